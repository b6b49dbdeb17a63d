import type { Pair } from "../relay/peers/Peers.ts"

/** The load: pairs of an Agent and a Computer, calls per second of all of them, and the bytes of a result. */
export const load = { pairs: 16, perSecond: 3000, bytes: 1024 } as const

/** Calls in flight at most: a busy machine must not exceed the limit of the Server. */
const maxInFlight = 1024

/**
 * Makes calls at the rate of {@link load} until the process ends. Gives a function that counts their replies. `wait`
 * schedules the next turn: `setImmediate` keeps a processor busy and starts each call in time.
 */
export const startLoad = (pairs: ReadonlyArray<Pair>, wait: (turn: () => void) => void): (() => number) => {
  const begun = performance.now()
  let due = 0
  let inFlight = 0
  let replies = 0
  const onReply = () => {
    inFlight -= 1
    replies += 1
  }
  const turn = () => {
    const elapsed = performance.now() - begun
    for (; (due * 1000) / load.perSecond <= elapsed; due++) {
      if (inFlight >= maxInFlight) continue
      inFlight += 1
      pairs[due % pairs.length]?.call(onReply)
    }
    wait(turn)
  }
  turn()
  return () => replies
}
