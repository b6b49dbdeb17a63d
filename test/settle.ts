import { Effect } from "effect"

/**
 * Lets all fibers run until they wait, without advancing virtual time. More yields than any chain of fibers in memory has:
 * their number depends on no clock and no machine. `TestClock.adjust(0)` yields twice only.
 */
export const settle = Effect.repeat(Effect.yieldNow, { times: 200 })
