import { effect } from "@preact/signals"
import { fetchSession, sendCommand, streamEvents } from "./api.ts"
import { clearPageCalls } from "./pageCalls.ts"
import { connection, pageState, receive, route, session } from "./store.ts"

/** Delays between the first attempts to connect, and between all others, in milliseconds. */
const retryDelays = [500, 1_000, 2_000, 5_000]
const longestDelay = 10_000

let open = new AbortController()

/** Fetches the session and receives the events, again and again, until the session has ended. */
export const connect = async (): Promise<void> => {
  open.abort()
  open = new AbortController()
  const { signal } = open
  for (let attempt = 0; !signal.aborted; attempt += 1) {
    try {
      session.value = await fetchSession()
      if (session.peek() === undefined) return disconnect()
      for await (const message of streamEvents(signal)) {
        attempt = 0
        connection.value = "Connected"
        receive(message)
      }
    } catch {
      // The connection is lost, and made again below.
    }
    if (signal.aborted) return
    connection.value = connection.peek() === "Connected" ? "Reconnecting" : "Unavailable"
    await new Promise((resolve) => setTimeout(resolve, retryDelays[attempt] ?? longestDelay))
  }
}

/** Shows the sign-in form after the session has ended, and forgets what it has called. */
export const disconnect = (): void => {
  open.abort()
  clearPageCalls()
  session.value = undefined
  connection.value = "SignIn"
}

/** Watches the office that is shown: its Computers report their states. */
export const watchOffice = (): (() => void) => {
  let watched = ""
  return effect(() => {
    const { stream } = pageState.value
    if (stream === undefined || route.value._tag !== "Office") return
    const { address } = route.value
    const key = JSON.stringify([stream, address])
    if (key === watched) return
    watched = key
    // The next focus, or the next stream, repairs a failure.
    sendCommand({ _tag: "Focus", stream, ...address }).catch(() => (watched = ""))
  })
}
