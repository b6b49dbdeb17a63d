/** What a peer has done wrong lately. */
export interface ViolationBudget {
  /** Since when it is counted, in milliseconds since 1970. */
  readonly windowStart: number
  readonly points: number
}

/** How much may go wrong within a minute before a connection is worth nothing. */
const maxViolations = { points: 100, windowMillis: 60_000 }

/** So many bytes of garbage weigh as much as a fault: a line break after every frame is harmless. */
const garbageBytesPerPoint = 16 * 1024

/** What a fault costs: the third frame that is too large within a minute is one too many. */
const violationPoints = (violation: string, bytes: number): number => {
  if (violation === "oversize") return 34
  return violation === "garbage" ? bytes / garbageBytesPerPoint : 1
}

export const newViolationBudget = (now: number): ViolationBudget => ({ windowStart: now, points: 0 })

/** Counts a fault; `bytes` says how much garbage there was. */
export const recordViolation = (
  budget: ViolationBudget,
  now: number,
  violation: string,
  bytes = 0
): ViolationBudget => {
  const { windowStart, points } =
    now - budget.windowStart >= maxViolations.windowMillis ? newViolationBudget(now) : budget
  return { windowStart, points: points + violationPoints(violation, bytes) }
}

/** True when a peer has done so much wrong that its connection is to be ended. */
export const isExhausted = ({ points }: ViolationBudget): boolean => points > maxViolations.points
