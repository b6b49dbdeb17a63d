import { Effect, Exit, Predicate } from "effect"
import { ThrownValue } from "./thrown.ts"

/** How code of a pack is entered; it may note whose code runs from there on. */
export type EnterPackCode = <A>(code: () => A) => A

const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  Predicate.hasProperty(value, "then") && typeof value.then === "function"

/** What an Effect of a pack needs besides what every Effect has, it must have provided itself. */
const isPackEffect = (value: unknown): value is Effect.Effect<unknown, unknown> => Effect.isEffect(value)

/**
 * Runs code of a pack, whether it gives its result at once, as a promise or as an Effect. Who gives up waiting does not
 * wait for the pack: an Effect is interrupted and left to clean up by itself, and a promise is left alone.
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
              Exit.isSuccess(exit)
                ? Effect.succeed(exit.value)
                : Effect.fail(ThrownValue.fromCause(exit.cause))
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
