import type { Effect, Scope } from "effect"
import type { Site } from "./Site.ts"
import type { SlowHeads } from "./SlowHeads.ts"

/** One row of the table: what is done to a Server, and what it answers. `run` fails when it answers anything else. */
export interface Attack {
  readonly attack: string
  readonly answer: string
  readonly run: Effect.Effect<void, unknown, Scope.Scope | Site | SlowHeads>
}
