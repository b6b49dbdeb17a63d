/** What a peer has done wrong lately. */
export interface Patience {
  /** Since when it is counted, in milliseconds since 1970. */
  readonly since: number
  readonly spent: number
}

/** How much may go wrong within a minute before a connection is worth nothing. */
const most = { points: 100, millis: 60_000 }

/** So many bytes of garbage weigh as much as a fault: a line break after every frame is harmless. */
const garbageStep = 16 * 1024

/** What a fault costs: the third frame that is too large within a minute is one too many. */
const costOf = (fault: string, bytes: number): number => {
  if (fault === "oversize") return 34
  return fault === "garbage" ? bytes / garbageStep : 1
}

export const noFaults = (now: number): Patience => ({ since: now, spent: 0 })

/** Counts a fault; `bytes` says how much garbage there was. */
export const spend = (patience: Patience, now: number, fault: string, bytes = 0): Patience => {
  const { since, spent } = now - patience.since >= most.millis ? noFaults(now) : patience
  return { since, spent: spent + costOf(fault, bytes) }
}

/** True when a peer has done so much wrong that its connection is to be ended. */
export const isExhausted = ({ spent }: Patience): boolean => spent > most.points
