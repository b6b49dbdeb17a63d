import { Duration, Schema } from "effect"
import { parseShortDuration } from "../time/shortDuration.ts"

/** When an MCP server runs: as long as its Computer, or from a request until it has been idle for a time. */
export const lifecycles = ["eager", "lazy"] as const
export const Lifecycle = Schema.Literals(lifecycles)
export type Lifecycle = typeof Lifecycle.Type

const maxIdle = Duration.days(7)

/** Parses the time after which an idle server stops: up to a week, such as `5m`. */
export const parseIdle = (text: string): Duration.Duration | undefined => {
  const idle = parseShortDuration(text)
  return idle !== undefined && Duration.isLessThanOrEqualTo(idle, maxIdle) ? idle : undefined
}

export const expectedIdle = "a time up to 7d, such as 90s, 5m or 2h"

export const idleProblem = (text: string): string | undefined =>
  parseIdle(text) === undefined ? `expected ${expectedIdle}` : undefined
