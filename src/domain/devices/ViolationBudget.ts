/** Violations of one peer within the current window. */
export interface ViolationBudget {
  /** Start of the window, in milliseconds since 1970. */
  readonly windowStart: number
  readonly points: number
}

/** A connection that exceeds this number of points within the window is closed. */
const maxViolations = { points: 100, windowMillis: 60_000 }

/** A line break after every frame is harmless, so garbage costs little. */
const garbageBytesPerPoint = 16 * 1024

/** The third frame above the size limit within a minute exhausts the budget. */
const violationPoints = (violation: string, bytes: number): number => {
  if (violation === "too_large") return 34
  return violation === "garbage" ? bytes / garbageBytesPerPoint : 1
}

export const newViolationBudget = (now: number): ViolationBudget => ({ windowStart: now, points: 0 })

/** Adds a violation; `bytes` is the size of garbage. */
export const recordViolation = (budget: ViolationBudget, now: number, violation: string, bytes = 0) => {
  // The clock may have been set back.
  const isOver = Math.abs(now - budget.windowStart) >= maxViolations.windowMillis
  const { windowStart, points } = isOver ? newViolationBudget(now) : budget
  return { windowStart, points: points + violationPoints(violation, bytes) }
}

export const isExhausted = ({ points }: ViolationBudget): boolean => points > maxViolations.points
