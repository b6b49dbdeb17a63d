import { Cause, Effect, Exit, Predicate, Queue, Stream } from "effect"
import type { McpProgress } from "../../../application/ports/McpSession.ts"

/** Enters code of a pack; the guard records the pack for uncaught errors. */
export type EnterPackCode = <A>(code: () => A) => A

export const enterDirectly: EnterPackCode = (code) => code()

const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  Predicate.hasProperty(value, "then") && typeof value.then === "function"

/** A pack must provide the requirements of its Effects itself. */
const isPackEffect = (value: unknown): value is Effect.Effect<unknown, unknown> => Effect.isEffect(value)

/** What code of a pack threw, rejected with or failed with. */
export interface Thrown {
  readonly value: unknown
}

/**
 * Runs code of a pack that returns a value, a promise or an Effect. Interruption does not wait for the pack: an Effect
 * is interrupted and cleans up in the background, a promise continues.
 */
export const runPackCode = (enter: EnterPackCode, code: () => unknown): Effect.Effect<unknown, Thrown> =>
  Effect.contextWith((context) =>
    Effect.callback((resume) => {
      try {
        const value = enter(code)
        if (isPackEffect(value)) {
          const fiber = enter(() => Effect.runForkWith(context)(value))
          const onFailure = (cause: Cause.Cause<unknown>) => Effect.fail({ value: Cause.squash(cause) })
          fiber.addObserver((exit) => resume(Exit.match(exit, { onSuccess: Effect.succeed, onFailure })))
          return Effect.sync(() => fiber.interruptUnsafe())
        }
        if (!isPromiseLike(value)) return resume(Effect.succeed(value))
        value.then(
          (result) => resume(Effect.succeed(result)),
          (value: unknown) => resume(Effect.fail({ value }))
        )
      } catch (value) {
        resume(Effect.fail({ value }))
      }
    })
  )

/** Reports of one call that can wait; older ones are dropped, since the last one holds the current progress. */
const maxPendingProgress = 64

/** Runs an effect that reports progress, and delivers all of its reports, in order, before its result. */
export const withProgress = Effect.fnUntraced(function* <A, E, R>(
  onProgress: (progress: McpProgress) => Effect.Effect<void>,
  run: (report: (progress: McpProgress) => void) => Effect.Effect<A, E, R>
) {
  const queue = yield* Queue.sliding<McpProgress, Cause.Done>(maxPendingProgress)
  const completion = run((progress) => void Queue.offerUnsafe(queue, progress))
  const [value] = yield* Effect.all(
    [Effect.ensuring(completion, Queue.end(queue)), Stream.runForEach(Stream.fromQueue(queue), onProgress)],
    { concurrency: 2 }
  )
  return value
})
