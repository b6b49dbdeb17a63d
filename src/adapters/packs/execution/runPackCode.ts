import { Cause, Effect, Exit, Predicate } from "effect"
import { ThrownValue } from "./thrown.ts"

/** Enters code of a pack; the guard records the pack for uncaught errors. */
export type EnterPackCode = <A>(code: () => A) => A

const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  Predicate.hasProperty(value, "then") && typeof value.then === "function"

/** A pack must provide the requirements of its Effects itself. */
const isPackEffect = (value: unknown): value is Effect.Effect<unknown, unknown> => Effect.isEffect(value)

/**
 * Runs code of a pack that returns a value, a promise or an Effect. Interruption does not wait for the pack: an Effect
 * is interrupted and cleans up in the background, a promise continues.
 */
export const runPackCode = (enter: EnterPackCode, code: () => unknown): Effect.Effect<unknown, ThrownValue> =>
  Effect.contextWith((context) =>
    Effect.callback((resume) => {
      try {
        const value = enter(code)
        if (isPackEffect(value)) {
          const fiber = enter(() => Effect.runForkWith(context)(value))
          fiber.addObserver((exit) =>
            resume(
              Exit.isSuccess(exit) ? Effect.succeed(exit.value) : Effect.fail(new ThrownValue(Cause.squash(exit.cause)))
            )
          )
          return Effect.sync(() => fiber.interruptUnsafe())
        }
        if (!isPromiseLike(value)) return resume(Effect.succeed(value))
        value.then(
          (result) => resume(Effect.succeed(result)),
          (error: unknown) => resume(Effect.fail(new ThrownValue(error)))
        )
      } catch (error) {
        resume(Effect.fail(new ThrownValue(error)))
      }
    })
  )
