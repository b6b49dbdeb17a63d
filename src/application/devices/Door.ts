/** Remembers who was refused, and stays shut for those who come again and again. */
export interface Door {
  readonly refused: (peer: string, now: number) => void
  readonly isShut: (peer: string, now: number) => boolean
  /** Takes a place among those who have not shown yet who they are; false when there is none for this address. */
  readonly wait: (peer: string) => boolean
  /** Gives that place back. */
  readonly waited: (peer: string) => void
}

/** So many refusals of one address within a minute of the first shut the door for a minute after the last. */
const most = { refusals: 5, millis: 60_000 }

/** How many addresses are remembered; of more, those that were refused longest ago are forgotten. */
const mostPeers = 4096

/** So many may wait at once, of all addresses and of one: each of them holds up to a whole frame of ours. */
const mostWaiting = { all: 512, each: 64 }

/** A door that is open for everybody. Times are in milliseconds since 1970. */
export const makeDoor = (): Door => {
  const refusals = new Map<string, { readonly since: number; readonly count: number }>()
  const waiting = new Map<string, number>()
  let present = 0
  const recent = (peer: string, now: number) => {
    const known = refusals.get(peer)
    return known !== undefined && now - known.since < most.millis ? known : undefined
  }
  return {
    refused: (peer, now) => {
      const before = recent(peer, now) ?? { since: now, count: 0 }
      const count = before.count + 1
      // Set anew, so that the oldest stand first.
      refusals.delete(peer)
      refusals.set(peer, { since: count < most.refusals ? before.since : now, count })
      const [oldest] = refusals.keys()
      if (refusals.size > mostPeers && oldest !== undefined) refusals.delete(oldest)
    },
    isShut: (peer, now) => (recent(peer, now)?.count ?? 0) >= most.refusals,
    wait: (peer) => {
      const others = waiting.get(peer) ?? 0
      if (present >= mostWaiting.all || others >= mostWaiting.each) return false
      present++
      waiting.set(peer, others + 1)
      return true
    },
    waited: (peer) => {
      const others = (waiting.get(peer) ?? 1) - 1
      present--
      if (others > 0) waiting.set(peer, others)
      else waiting.delete(peer)
    }
  }
}
