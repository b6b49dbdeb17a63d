import type { IncomingMessage, ServerResponse } from "node:http"
import * as NodeStream from "@effect/platform-node/NodeStream"
import { Data, Effect, Stream } from "effect"
import { contentLength } from "./sendReply.ts"

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

/**
 * Streams a body with backpressure; fails with `tooLarge` above `maxBytes`. Partial reads keep the connection usable, and
 * a second run of the stream continues.
 */
export const limitedBody = <E>(
  { request, sendContinue }: PendingRequest,
  maxBytes: number,
  tooLarge: E
): Stream.Stream<Uint8Array, ClientDisconnected | E> => {
  if ((contentLength(request) ?? 0) > maxBytes) return Stream.fail(tooLarge)
  let size = 0
  return NodeStream.fromReadable<Uint8Array, ClientDisconnected>({
    evaluate: () => {
      sendContinue()
      return request
    },
    onError: () => new ClientDisconnected(),
    chunkSize: maxReadsPerPull,
    closeOnDone: false
  }).pipe(
    Stream.tap((chunk): Effect.Effect<void, E> => {
      size += chunk.byteLength
      return size > maxBytes ? Effect.fail(tooLarge) : Effect.void
    })
  )
}
