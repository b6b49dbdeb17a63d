import { Duration, Effect, Exit, Option, Scope, Semaphore } from "effect"
import { type LoadedPack, PackError } from "../ports/packs/PackLoader.ts"

/** Fails a call that takes longer. */
export const withCallTimeout =
  (duration: Duration.Duration) =>
  <A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E | PackError, R> =>
    Effect.timeoutOrElse(call, {
      duration,
      orElse: () => {
        const message = `The tool did not answer within ${Duration.toSeconds(duration)} seconds`
        return Effect.fail(new PackError({ reason: "timed_out", message }))
      }
    })

export interface PackCallLimits {
  /** Timeout of a call, including its time in the queue. */
  readonly timeout: Duration.Duration
  /** Concurrent calls. */
  readonly concurrency: number
  /** Calls that can wait in the queue. */
  readonly maxQueued: number
}

export type RunningPack = ReturnType<typeof makeRunningPack>

/** Limits the calls of a loaded pack; `scope` is the scope of the pack. */
export const makeRunningPack = (
  name: string,
  loaded: LoadedPack,
  scope: Scope.Closeable,
  { concurrency, maxQueued, timeout }: PackCallLimits
) => {
  const running = Semaphore.makeUnsafe(concurrency)
  // Finite even without a limit: `drain` takes all slots.
  const maxCalls = Math.min(concurrency + maxQueued, Number.MAX_SAFE_INTEGER)
  const slots = Semaphore.makeUnsafe(maxCalls)

  const busyError = () => new PackError({ reason: "busy", message: `Pack '${name}' is busy: try again later` })

  const call: LoadedPack["call"] = (...request) =>
    running
      .withPermit(loaded.call(...request))
      .pipe(
        withCallTimeout(timeout),
        slots.withPermitsIfAvailable(1),
        Effect.flatMap(Option.match({ onNone: busyError, onSome: Effect.succeed }))
      )
  return {
    loaded,
    call,
    /** Waits for all in-flight calls, then closes the pack. The owner sends no new calls. */
    drain: slots.withPermits(maxCalls)(Scope.close(scope, Exit.void))
  }
}
