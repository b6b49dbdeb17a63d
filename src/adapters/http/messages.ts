import type { IncomingMessage, ServerResponse } from "node:http"
import { Data, Effect, Stream } from "effect"
import { writeInParts } from "../bytes/writeInParts.ts"

export interface HttpReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

/** The server drains a rejected body up to this size; above it, a new connection is cheaper. */
const maxDrainBytes = 64 * 1024

/**
 * How long a client that still sends has to read an early reply. An immediate close would reset the connection, and
 * the client would lose the reply.
 */
const lingerTimeout = "1 second"

/** Waits until the response is sent or the connection closes. */
export const responseClosed = (response: ServerResponse): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const done = () => resume(Effect.void)
    if (response.closed) return done()
    response.once("close", done)
    return Effect.sync(() => void response.off("close", done))
  })

/** Declared length of a body; undefined when it is chunked. */
const contentLength = ({ headers }: IncomingMessage): number | undefined =>
  headers["transfer-encoding"] === undefined ? Number(headers["content-length"] ?? 0) : undefined

/**
 * Sends a reply. While the client still sends, drains the rest of a small body; closes the connection after a large
 * one, once the client has had time to read the reply.
 */
export const sendReply = Effect.fnUntraced(function* (
  request: IncomingMessage,
  response: ServerResponse,
  { body, headers, status }: HttpReply
) {
  if (response.destroyed) return
  const mustClose = !request.complete && (contentLength(request) ?? Number.POSITIVE_INFINITY) > maxDrainBytes
  response.writeHead(status, {
    ...headers,
    ...(status !== 204 && { "Content-Length": String(Buffer.byteLength(body)) }),
    ...(mustClose && { Connection: "close" })
  })
  if (!mustClose) {
    request.resume()
    writeInParts(response, Buffer.from(body))
    return
  }
  // `end` would make Node close the connection at once.
  response.write(body)
  yield* Effect.timeoutOrElse(responseClosed(response), {
    duration: lingerTimeout,
    orElse: () => Effect.sync(() => void response.destroy())
  })
})

export class ClientDisconnected extends Data.TaggedError("ClientDisconnected")<{}> {}

/** A read of Node holds up to 64 KiB. */
const maxReadsPerPull = 16

/** A request whose body has not been read. */
export type PendingRequest = ReturnType<typeof makePendingRequest>

export const makePendingRequest = (request: IncomingMessage, response: ServerResponse) => {
  let awaitsContinue = request.headers.expect !== undefined
  return {
    request,
    /** Sends 100 Continue, once, when the client waits for it. */
    sendContinue: () => {
      if (awaitsContinue) response.writeContinue()
      awaitsContinue = false
    }
  }
}

/** As late as the services of Node, for the same reason. */
const loadNodeStream = Effect.promise(() => import("@effect/platform-node/NodeStream"))

/**
 * Streams a body with backpressure; fails with `tooLarge` above `maxBytes`. Partial reads keep the connection usable, and
 * a second run of the stream continues.
 */
export const limitedBody = <E>({ request, sendContinue }: PendingRequest, maxBytes: number, tooLarge: E) => {
  if ((contentLength(request) ?? 0) > maxBytes) return Stream.fail(tooLarge)
  let size = 0
  const body = Effect.map(loadNodeStream, ({ fromReadable }) =>
    fromReadable<Uint8Array, ClientDisconnected>({
      evaluate: () => {
        sendContinue()
        return request
      },
      onError: () => new ClientDisconnected(),
      chunkSize: maxReadsPerPull,
      closeOnDone: false
    })
  )
  return Stream.unwrap(body).pipe(
    Stream.tap((chunk): Effect.Effect<void, E> => {
      size += chunk.byteLength
      return size > maxBytes ? Effect.fail(tooLarge) : Effect.void
    })
  )
}
