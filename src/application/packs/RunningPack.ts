import { Data, Duration, Effect, Exit, Latch, Scope, Semaphore } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { McpProgress } from "../ports/McpSession.ts"
import type { LoadedPack, PackCall, PackError } from "../ports/packs/PackLoader.ts"

/** A call exceeded its timeout. */
export class PackTimeoutError extends Data.TaggedError("PackTimeoutError")<{ readonly message: string }> {}

/** The queue of a pack is full. */
export class PackBusyError extends Data.TaggedError("PackBusyError")<{ readonly message: string }> {}

/** Limits of the calls of one pack. */
export interface PackCallLimits {
  /** Timeout of a call, including its time in the queue. */
  readonly timeout: Duration.Duration
  /** Concurrent calls. */
  readonly concurrency: number
  /** Calls that can wait in the queue. */
  readonly maxQueued: number
}

/** A running version of a pack. */
export interface RunningPack {
  readonly loaded: LoadedPack
  readonly call: (
    call: PackCall,
    onProgress: (progress: McpProgress) => Effect.Effect<void>
  ) => Effect.Effect<JsonObject, PackError | PackTimeoutError | PackBusyError>
  /** Waits for all in-flight calls, then closes the pack. The owner sends no new calls. */
  readonly drain: Effect.Effect<void>
}

/** Limits the calls of a loaded pack; `scope` is the scope of the pack. */
export const makeRunningPack = (
  name: string,
  loaded: LoadedPack,
  scope: Scope.Closeable,
  { concurrency, maxQueued, timeout }: PackCallLimits
): RunningPack => {
  const permits = Semaphore.makeUnsafe(concurrency)
  /** Open while no call runs or waits. */
  const idle = Latch.makeUnsafe(true)
  let activeCalls = 0

  const timeoutError = () => {
    const seconds = Duration.toSeconds(timeout)
    return Effect.fail(new PackTimeoutError({ message: `The tool did not answer within ${seconds} seconds` }))
  }

  return {
    loaded,
    call: (call, onProgress) =>
      Effect.suspend((): Effect.Effect<JsonObject, PackError | PackTimeoutError | PackBusyError> => {
        if (activeCalls >= concurrency + maxQueued) {
          return Effect.fail(new PackBusyError({ message: `Pack '${name}' is busy: try again later` }))
        }
        return Effect.acquireUseRelease(
          Effect.sync(() => {
            activeCalls++
            idle.closeUnsafe()
          }),
          () =>
            permits
              .withPermit(loaded.call(call, onProgress))
              .pipe(Effect.timeoutOrElse({ duration: timeout, orElse: timeoutError })),
          () =>
            Effect.sync(() => {
              activeCalls--
              if (activeCalls === 0) idle.openUnsafe()
            })
        )
      }),
    drain: Effect.andThen(idle.await, Scope.close(scope, Exit.void))
  }
}
