import { it } from "@effect/vitest"
import { Effect, type Scope } from "effect"

/** A generator as of `Effect.gen`, or a function that needs no effect. */
export type TestBody<A> = (value: A) => Effect.fn.Return<void, unknown, Scope.Scope> | void

const run = <A, E>(setup: Effect.Effect<A, E, Scope.Scope>, body: TestBody<A>) =>
  Effect.flatMap(setup, (value) => {
    const steps = body(value)
    return steps === undefined ? Effect.void : Effect.gen(() => steps)
  })

/** Declares tests in virtual time. The setup runs for each of them, in its scope. */
export const effectWith =
  <A, E>(setup: Effect.Effect<A, E, Scope.Scope>) =>
  (title: string, body: TestBody<A>): void =>
    it.effect(title, () => run(setup, body))

/** Declares tests in real time. The setup runs for each of them, in its scope. */
export const liveWith =
  <A, E>(setup: Effect.Effect<A, E, Scope.Scope>) =>
  (title: string, body: TestBody<A>): void =>
    it.live(title, () => run(setup, body))
