import type { IncomingMessage, ServerResponse } from "node:http"
import { Effect } from "effect"
import type { Reply } from "./reply.ts"

/** A connection on which nothing moves for so long is cut, in milliseconds, unless a call of it is under way. */
export const socketTimeoutMillis = 60_000

/** So much of a body that nobody wants is read all the same, in bytes: less than a new connection costs. */
const maxDrainBytes = 64 * 1024

/**
 * How long a client may take to see an answer that came before it has sent everything, before it is cut off. Cut off at
 * once, it might find its connection broken, and no answer.
 */
const lingerTimeout = "1 second"

/** Waits until a connection has ended, or the answer has been sent. */
export const responseClosed = (response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const done = () => resume(Effect.void)
    if (response.closed) return done()
    response.once("close", done)
    return Effect.sync(() => void response.off("close", done))
  })

/** The length of a body as its client tells it; undefined when it does not. */
export const contentLength = ({ headers }: IncomingMessage): number | undefined => {
  if (headers["transfer-encoding"] !== undefined) return undefined
  return Number(headers["content-length"] ?? 0)
}

/** Is there more of a body than should be read for nothing? */
const exceedsDrainLimit = (request: IncomingMessage): boolean =>
  !request.complete && (contentLength(request) ?? Number.POSITIVE_INFINITY) > maxDrainBytes

/**
 * Sends an answer. When its client is still sending, what is left of a small body is read, so that the connection can
 * go on; otherwise nothing more is, and the connection ends as soon as the client has had time to see the answer.
 */
export const sendReply = Effect.fnUntraced(function* (
  request: IncomingMessage,
  response: ServerResponse,
  { body, headers, status }: Reply
) {
  if (response.destroyed) return
  const mustClose = exceedsDrainLimit(request)
  response.writeHead(status, {
    ...headers,
    ...(status !== 204 && { "Content-Length": String(Buffer.byteLength(body)) }),
    ...(mustClose && { Connection: "close" })
  })
  if (!mustClose) {
    request.resume()
    response.end(body)
    return
  }
  // Not ended: that would have Node close the connection at once.
  response.write(body)
  yield* Effect.timeoutOrElse(responseClosed(response), {
    duration: lingerTimeout,
    orElse: () => Effect.sync(() => void response.destroy())
  })
})
