import type { Effect, Scope } from "effect"
import type { Site } from "./Site.ts"
import type { SlowHeads } from "./SlowHeads.ts"

/** An attack on a Server, and the expected reaction. `run` fails on any other reaction. */
export interface Attack {
  readonly attack: string
  readonly answer: string
  readonly run: Effect.Effect<void, unknown, Scope.Scope | Site | SlowHeads>
}
