import { Data, Duration, Effect, Exit, Latch, Scope, Semaphore } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { McpProgress } from "../ports/McpSession.ts"
import type { LoadedPack, PackCall, PackError } from "../ports/packs/PackLoader.ts"

/** A call took longer than it may. */
export class PackTimeoutError extends Data.TaggedError("PackTimeoutError")<{ readonly message: string }> {}

/** Too many calls of a pack run and wait already. */
export class PackBusyError extends Data.TaggedError("PackBusyError")<{ readonly message: string }> {}

/** Bounds of the calls of one pack. */
export interface PackCallLimits {
  /** How long a call may take, waiting for its turn included. */
  readonly timeout: Duration.Duration
  /** How many calls run at once. */
  readonly concurrency: number
  /** How many more wait for their turn. */
  readonly maxQueued: number
}

/** One version of a pack that runs, until its last call has ended. */
export interface RunningPack {
  readonly loaded: LoadedPack
  readonly call: (
    call: PackCall,
    onProgress: (progress: McpProgress) => Effect.Effect<void>
  ) => Effect.Effect<JsonObject, PackError | PackTimeoutError | PackBusyError>
  /** Waits until no call runs, then closes it. New calls are somebody else's business. */
  readonly drain: Effect.Effect<void>
}

/** Runs the calls of a pack that was loaded in this scope. */
export const makeRunningPack = (
  name: string,
  loaded: LoadedPack,
  scope: Scope.Closeable,
  { concurrency, maxQueued, timeout }: PackCallLimits
): RunningPack => {
  const permits = Semaphore.makeUnsafe(concurrency)
  /** Open when no call runs or waits. */
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
