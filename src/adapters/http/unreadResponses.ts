import type { Server, ServerResponse } from "node:http"
import { Duration, Effect, FiberSet } from "effect"
import { makeBufferLimit } from "../../application/shared/BufferLimit.ts"
import { writeProgressOf } from "../bytes/writeInParts.ts"

const checkInterval = Duration.seconds(1)

/** Default limit in bytes: many large results. */
export const defaultMaxUnreadBytes = 256 * 1024 * 1024

/**
 * Limits the responses of a server that its clients have not read, in bytes, as long as the scope. Above the limit the
 * connections of the slowest readers are closed, within a second.
 */
export const limitUnreadResponses = Effect.fnUntraced(function* (server: Server, maxBytes: number) {
  const run = yield* FiberSet.makeRuntime<never>()
  const open = new Set<ServerResponse>()
  const limit = yield* makeBufferLimit<ServerResponse>(maxBytes, {
    heldBytes: (response) => response.writableLength + writeProgressOf(response).waitingBytes,
    passedBytes: (response) => writeProgressOf(response).sentBytes,
    close: (response, detail) => {
      const remoteAddress = response.socket?.remoteAddress
      run(Effect.logWarning("connection closed", { remoteAddress, reason: "unread_responses_exceeded", detail }))
      response.destroy()
    }
  })
  server.on("request", (_, response) => {
    open.add(response)
    response.once("close", () => {
      open.delete(response)
      limit.remove(response)
    })
  })
  const checkAll = Effect.sync(() => {
    for (const response of open) limit.update(response)
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(checkInterval), checkAll)))
})
