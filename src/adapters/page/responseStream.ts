import type { ServerResponse } from "node:http"
import { Duration, Effect } from "effect"
import { pageHeaders } from "./pageReplies.ts"

/** A client that has not read a message for this time is disconnected. */
const readTimeout = Duration.seconds(60)

/** Starts a response whose messages follow one by one. */
export const startStream = (response: ServerResponse, contentType: string): void =>
  void response.writeHead(200, {
    ...pageHeaders(),
    "Content-Type": contentType,
    // A proxy must not collect messages.
    "X-Accel-Buffering": "no"
  })

const drained = (response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const onDrain = () => resume(Effect.void)
    response.once("drain", onDrain)
    return Effect.sync(() => void response.off("drain", onDrain))
  })

/** Writes a message. Waits until the client has read enough for the next one: a slow reader must not grow the memory. */
export const writeMessage = (response: ServerResponse, text: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (response.write(text)) return Effect.void
    const disconnect = Effect.suspend(() => {
      const remoteAddress = response.socket?.remoteAddress
      response.destroy()
      return Effect.logWarning("connection closed", { remoteAddress, reason: "unread_page_stream" })
    })
    return Effect.timeoutOrElse(drained(response), { duration: readTimeout, orElse: () => disconnect })
  })
