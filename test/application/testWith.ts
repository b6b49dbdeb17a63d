import { it } from "@effect/vitest"
import { Effect, type Scope } from "effect"

/**
 * Declares tests that share a setup. Each body gets a new value of the setup, in the scope of the test. It is a
 * function, or a generator as of `Effect.gen`.
 */
export const testWith =
  <A, E>(setup: Effect.Effect<A, E, Scope.Scope>) =>
  (title: string, body: (value: A) => Effect.fn.Return<void, unknown, Scope.Scope> | void): void =>
    it.effect(title, () =>
      Effect.flatMap(setup, (value) => {
        const steps = body(value)
        return steps === undefined ? Effect.void : Effect.gen(() => steps)
      })
    )
