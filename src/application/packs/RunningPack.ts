import { Data, Duration, Effect, Exit, Option, Scope, Semaphore } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import type { LoadedPack, PackError } from "../ports/packs/PackLoader.ts"

export class PackTimeoutError extends Data.TaggedError("PackTimeoutError")<{ readonly message: string }> {}

/** Fails a call that takes longer. */
export const withCallTimeout =
  (duration: Duration.Duration) =>
  <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E | PackTimeoutError, R> =>
    Effect.timeoutOrElse(call, {
      duration,
      orElse: () => {
        const message = `The tool did not answer within ${Duration.toSeconds(duration)} seconds`
        return Effect.fail(new PackTimeoutError({ message }))
      }
    })

/** The queue of a pack is full. */
export class PackBusyError extends Data.TaggedError("PackBusyError")<{ readonly message: string }> {}

export type PackCallError = PackError | PackTimeoutError | PackBusyError

export interface PackCallLimits {
  /** Timeout of a call, including its time in the queue. */
  readonly timeout: Duration.Duration
  /** Concurrent calls. */
  readonly concurrency: number
  /** Calls that can wait in the queue. */
  readonly maxQueued: number
}

export interface RunningPack {
  readonly loaded: LoadedPack
  readonly call: (...args: Parameters<LoadedPack["call"]>) => Effect.Effect<JsonObject, PackCallError>
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
  const running = Semaphore.makeUnsafe(concurrency)
  // Finite even without a limit: `drain` takes all slots.
  const maxCalls = Math.min(concurrency + maxQueued, Number.MAX_SAFE_INTEGER)
  const slots = Semaphore.makeUnsafe(maxCalls)

  const busyError = () => new PackBusyError({ message: `Pack '${name}' is busy: try again later` })

  return {
    loaded,
    call: (call, onProgress) =>
      running
        .withPermit(loaded.call(call, onProgress))
        .pipe(
          withCallTimeout(timeout),
          slots.withPermitsIfAvailable(1),
          Effect.flatMap(Option.match({ onNone: busyError, onSome: Effect.succeed }))
        ),
    drain: slots.withPermits(maxCalls)(Scope.close(scope, Exit.void))
  }
}
