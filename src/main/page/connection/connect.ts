import { effect } from "@preact/signals"
import { parseJson } from "../../../domain/json.ts"
import type { PageMessage } from "../../../domain/page/PageEvent.ts"
import { apiUrl, fetchSession, sendCommand } from "./api.ts"
import { clearPageCalls } from "./pageCalls.ts"
import { connection, pageState, receive, route, session } from "./store.ts"

/** Delays between attempts to connect, in milliseconds; the last one repeats. */
const retryDelays = [500, 1_000, 2_000, 5_000, 10_000]

let attempt = 0
let source: EventSource | undefined
let timer: ReturnType<typeof setTimeout> | undefined

const retryLater = (): void => {
  const delay = retryDelays[Math.min(attempt, retryDelays.length - 1)] ?? 0
  attempt += 1
  clearTimeout(timer)
  timer = setTimeout(() => void connect(), delay)
  connection.value = attempt === 1 && connection.peek() === "Connected" ? "Reconnecting" : "Unavailable"
}

const openEvents = (): void => {
  const opened = new EventSource(apiUrl("events"))
  source = opened
  opened.onmessage = ({ data }) => {
    if (source !== opened) return
    const message = parseJson(String(data)) as PageMessage
    if ("stream" in message) {
      attempt = 0
      connection.value = "Connected"
    }
    receive(message)
  }
  // The browser does not tell an expired session from a Server that is down: the session is fetched again.
  opened.onerror = () => {
    opened.close()
    if (source === opened) retryLater()
  }
}

const closeEvents = (): void => {
  clearTimeout(timer)
  source?.close()
  source = undefined
}

/** Fetches the session and opens the stream of events, again and again until it is open. */
export const connect = async (): Promise<void> => {
  closeEvents()
  try {
    session.value = await fetchSession()
  } catch {
    return retryLater()
  }
  if (session.peek() === undefined) disconnect()
  else openEvents()
}

/** Shows the sign-in form after the session has ended, and forgets what it has called. */
export const disconnect = (): void => {
  closeEvents()
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
