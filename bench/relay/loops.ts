import type { Pair } from "./peers/Peers.ts"

/** How long a closed loop goes on: until its time is up, or until it has made so many calls. */
export type Extent = { readonly millis: number } | { readonly calls: number }

/** A closed loop that has ended. */
export interface Closed {
  readonly calls: number
  /** From the first call to the last answer. */
  readonly millis: number
}

/**
 * Every pair keeps so many calls under way: whenever an answer comes, the next call goes out. Calls that are under way
 * when it is enough are waited for, so that all work of the server belongs to a call that is counted.
 */
export const closedLoop = (
  pairs: ReadonlyArray<Pair>,
  inFlight: number,
  extent: Extent
): { readonly ended: Promise<Closed>; readonly stop: () => void } => {
  const { promise: ended, resolve } = Promise.withResolvers<Closed>()
  const most = "calls" in extent ? extent.calls : Number.POSITIVE_INFINITY
  const begun = performance.now()
  let enough = false
  let sent = 0
  let answered = 0
  const stop = () => {
    enough = true
  }
  const timer = "millis" in extent ? setTimeout(stop, extent.millis) : undefined
  const next = (pair: Pair) => {
    if (enough || sent >= most) return
    sent += 1
    pair.call(() => {
      answered += 1
      next(pair)
      if (answered < sent) return
      clearTimeout(timer)
      resolve({ calls: answered, millis: performance.now() - begun })
    })
  }
  for (const pair of pairs) for (let call = 0; call < inFlight; call++) next(pair)
  return { ended, stop }
}

/**
 * So many calls a second, whatever the answers do. Gives the milliseconds from when each call was due to when its
 * answer had come: a load that is late with its calls is no excuse for the server.
 */
export const openLoop = (
  pairs: ReadonlyArray<Pair>,
  perSecond: number,
  millis: number
): Promise<ReadonlyArray<number>> => {
  const { promise, resolve } = Promise.withResolvers<ReadonlyArray<number>>()
  const latencies: Array<number> = []
  const total = Math.ceil((perSecond * millis) / 1000)
  const begun = performance.now()
  let sent = 0
  const send = (pair: Pair, due: number) =>
    pair.call(() => {
      latencies.push(performance.now() - due)
      if (latencies.length === total) resolve(latencies)
    })
  // Timers are too coarse for this: the loop spins, and looks for answers at every turn.
  const turn = () => {
    const elapsed = performance.now() - begun
    for (; sent < total && (sent * 1000) / perSecond <= elapsed; sent++) {
      const pair = pairs[sent % pairs.length]
      if (pair !== undefined) send(pair, begun + (sent * 1000) / perSecond)
    }
    if (sent < total) setImmediate(turn)
  }
  turn()
  return promise
}
