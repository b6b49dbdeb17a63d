/** Remembers who was refused, and stays shut for those who come again and again. */
export interface AuthThrottle {
  readonly recordRejection: (peer: string, now: number) => void
  readonly isBlocked: (peer: string, now: number) => boolean
  /** Takes a place among those who have not shown yet who they are; false when there is none for this address. */
  readonly acquirePending: (peer: string) => boolean
  /** Gives that place back. */
  readonly releasePending: (peer: string) => void
}

/** So many refusals of one address within a minute of the first shut the door for a minute after the last. */
const rejectionLimit = { count: 5, windowMillis: 60_000 }

/** How many addresses are remembered; of more, those that were refused longest ago are forgotten. */
const maxTrackedPeers = 4096

/** So many may wait at once, of all addresses and of one: each of them holds up to a whole frame of ours. */
const maxPending = { total: 512, perPeer: 64 }

/** A door that is open for everybody. Times are in milliseconds since 1970. */
export const makeAuthThrottle = (): AuthThrottle => {
  const rejections = new Map<string, { readonly windowStart: number; readonly count: number }>()
  const pending = new Map<string, number>()
  let pendingTotal = 0
  const currentWindow = (peer: string, now: number) => {
    const known = rejections.get(peer)
    return known !== undefined && now - known.windowStart < rejectionLimit.windowMillis ? known : undefined
  }
  return {
    recordRejection: (peer, now) => {
      const before = currentWindow(peer, now) ?? { windowStart: now, count: 0 }
      const count = before.count + 1
      // Set anew, so that the oldest stand first.
      rejections.delete(peer)
      rejections.set(peer, { windowStart: count < rejectionLimit.count ? before.windowStart : now, count })
      const [oldest] = rejections.keys()
      if (rejections.size > maxTrackedPeers && oldest !== undefined) rejections.delete(oldest)
    },
    isBlocked: (peer, now) => (currentWindow(peer, now)?.count ?? 0) >= rejectionLimit.count,
    acquirePending: (peer) => {
      const pendingOfPeer = pending.get(peer) ?? 0
      if (pendingTotal >= maxPending.total || pendingOfPeer >= maxPending.perPeer) return false
      pendingTotal++
      pending.set(peer, pendingOfPeer + 1)
      return true
    },
    releasePending: (peer) => {
      const pendingOfPeer = (pending.get(peer) ?? 1) - 1
      pendingTotal--
      if (pendingOfPeer > 0) pending.set(peer, pendingOfPeer)
      else pending.delete(peer)
    }
  }
}
