/** The recent successful calls of one tool: their decayed number, as of a time in milliseconds. */
interface Uses {
  readonly count: number
  readonly at: number
}

/** The recent uses of tools by their exposed names; the last used tool comes last. */
export type ToolUsage = ReadonlyMap<string, Uses>

export const noUsage: ToolUsage = new Map()

/** A use counts half after this time: what a task needs again, it needs within hours. */
const halfLife = 3_600_000

/** The largest boost. A tool that matches better by more than a quarter stays above. */
const maxBoost = 0.25

/** Maximum number of remembered tools; the one used longest ago is dropped first. Few offices have more. */
const maxTools = 1000

/** The number of uses of a tool as of `now`. A clock that goes back does not raise it. */
const usesAt = ({ at, count }: Uses, now: number): number => count * 0.5 ** (Math.max(0, now - at) / halfLife)

/** Adds a successful call of a tool. */
export const recordUse = (usage: ToolUsage, name: string, now: number): ToolUsage => {
  const before = usage.get(name)
  const next = new Map(usage)
  next.delete(name)
  next.set(name, { count: 1 + (before === undefined ? 0 : usesAt(before, now)), at: now })
  for (const oldest of next.keys()) {
    if (next.size <= maxTools) break
    next.delete(oldest)
  }
  return next
}

/** The factor for the score of a tool in a search: 1 without use, up to 1.25 for a tool that is called all the time. */
export const usageBoost = (usage: ToolUsage, name: string, now: number): number => {
  const uses = usage.get(name)
  if (uses === undefined) return 1
  const count = usesAt(uses, now)
  return 1 + (maxBoost * count) / (count + 1)
}
