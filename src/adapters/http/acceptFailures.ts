import { closeSync, openSync } from "node:fs"
import type { Server } from "node:net"
import { devNull } from "node:os"
import { Duration, Effect, Queue } from "effect"
import { formatNetworkError } from "../bytes/networkErrors.ts"

/** Interval of the check for a free file descriptor. */
const checkInterval = Duration.seconds(1)

/** Shortest time between two log lines of one server. */
const warningInterval = Duration.minutes(1)

/** The error of opening a file; `undefined` when a file descriptor is free. */
const descriptorError = (): unknown => {
  try {
    closeSync(openSync(devNull, "r"))
    return undefined
  } catch (error) {
    return error
  }
}

/**
 * Logs that a server cannot accept connections, as long as the scope. Without a free file descriptor the system library
 * of Node accepts connections and closes them at once, mostly without an error: only a check notices that.
 */
export const logAcceptFailures = Effect.fnUntraced(function* (server: Server, address: string) {
  const failures = yield* Queue.sliding<unknown>(1)
  const report = (error: unknown) => void Queue.offerUnsafe(failures, error)
  server.on("error", report)
  const check = Effect.sync(() => {
    const error = descriptorError()
    if (error !== undefined) report(error)
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(checkInterval), check)))
  yield* Queue.take(failures).pipe(
    Effect.flatMap((error) => Effect.logWarning("accept failed", { address, reason: formatNetworkError(error) })),
    Effect.andThen(Effect.sleep(warningInterval)),
    Effect.andThen(Queue.clear(failures)),
    Effect.forever,
    Effect.forkScoped
  )
})
