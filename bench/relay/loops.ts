import type { Pair } from "./peers/Peers.ts"

/** The end of a closed loop: a duration or a number of calls. */
export type Extent = { readonly millis: number } | { readonly calls: number }

/** The result of a closed loop. */
export interface Closed {
  readonly calls: number
  /** Milliseconds from the first call to the last reply. */
  readonly millis: number
}

/**
 * Keeps a fixed number of calls in flight per pair: each reply starts the next call. At the end it waits for the calls in
 * flight, so all work of the server belongs to counted calls.
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
 * Starts calls at a fixed rate, independent of replies. Returns the milliseconds from the due time of each call to its
 * reply: delays of the load generator also count.
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
  // Timers are too coarse: the loop spins and polls for replies.
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
