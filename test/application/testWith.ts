import { it } from "@effect/vitest"
import { Effect, type Scope } from "effect"

/**
 * Declares tests that share a setup. Each body is a generator, as of `Effect.gen`, and gets the value of a setup of its own,
 * in the scope of the test.
 */
export const testWith =
  <A, E>(setup: Effect.Effect<A, E, Scope.Scope>) =>
  (title: string, body: (value: A) => Effect.fn.Return<void, unknown, Scope.Scope>): void =>
    it.effect(title, () => Effect.flatMap(setup, Effect.fnUntraced(body)))
