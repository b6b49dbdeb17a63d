import { makeKeptValues } from "../../domain/blobs/keptValues.ts"

export type AuthThrottle = ReturnType<typeof makeAuthThrottle>

/** An address with this many rejections within a minute is blocked for a minute after the last one. */
const rejectionLimit = { count: 5, windowMillis: 60_000 }

/** When the table is full, the address with the oldest rejection is evicted. */
const maxTrackedPeers = 4096

/** Each unauthenticated connection can hold a whole frame in memory. */
const maxPending = { total: 512, perPeer: 64 }

/** Limits rejected and unauthenticated connections per address. Times are in milliseconds since 1970. */
export const makeAuthThrottle = () => {
  const rejections = makeKeptValues<{ readonly windowStart: number; readonly count: number }>(() => 1, maxTrackedPeers)
  const pending = new Map<string, number>()
  let pendingTotal = 0
  const currentWindow = (peer: string, now: number) => {
    const known = rejections.get(peer)
    // The clock may have been set back.
    const isCurrent = known !== undefined && Math.abs(now - known.windowStart) < rejectionLimit.windowMillis
    return isCurrent ? known : undefined
  }
  return {
    recordRejection: (peer: string, now: number): void => {
      const before = currentWindow(peer, now) ?? { windowStart: now, count: 0 }
      const count = before.count + 1
      rejections.put(peer, { windowStart: count < rejectionLimit.count ? before.windowStart : now, count })
    },
    isBlocked: (peer: string, now: number): boolean => (currentWindow(peer, now)?.count ?? 0) >= rejectionLimit.count,
    /** Reserves a slot for an unauthenticated connection; false when the address or the gateway has none left. */
    acquirePending: (peer: string): boolean => {
      const pendingOfPeer = pending.get(peer) ?? 0
      if (pendingTotal >= maxPending.total || pendingOfPeer >= maxPending.perPeer) return false
      pendingTotal++
      pending.set(peer, pendingOfPeer + 1)
      return true
    },
    releasePending: (peer: string): void => {
      const pendingOfPeer = (pending.get(peer) ?? 1) - 1
      pendingTotal--
      if (pendingOfPeer > 0) pending.set(peer, pendingOfPeer)
      else pending.delete(peer)
    }
  }
}
