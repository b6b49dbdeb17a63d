/** What MCP's conformance suite finds: plain data, which the documentation shows and the tests of this folder check. */
import { clientScenarios } from "./clientScenarios.ts"
import { serverScenarios } from "./serverScenarios.ts"

/** A scenario passes, or exactly these checks fail or warn, for this reason. Warnings do not fail a scenario. */
export type Outcome =
  | "passes"
  | { readonly fails?: ReadonlyArray<string>; readonly warns?: ReadonlyArray<string>; readonly reason: string }

export type Scenarios = { readonly [scenario: string]: Outcome }

/** The scenarios that a revision requires, and those that the suite runs and does not score. */
export interface Outcomes {
  readonly required: Scenarios
  readonly notRequired: Scenarios
}

export const revisions = ["2025-11-25", "2026-07-28"] as const

export type Revision = (typeof revisions)[number]

/** By the side of this project: a published office, and the MCP client of a Computer. */
export const outcomes = { server: serverScenarios, client: clientScenarios } satisfies {
  readonly [side: string]: Record<Revision, Outcomes>
}
