import { type Notification, type ComputerPart, computerParts } from "../model/Notification.ts"
import type { ComputerName } from "../model/ids.ts"

/**
 * The notifications that a slow member has not received. Combines them without changing the member's final view:
 * repeated updates count once, and a join followed by a leave cancels out. Mutable.
 */
export interface NotificationBacklog {
  readonly entries: Map<string, ReadonlyArray<Notification>>
  /** The number of notifications. */
  size: number
  /** Approximate memory of the entries. */
  bytes: number
}

export const makeBacklog = (): NotificationBacklog => ({ entries: new Map(), size: 0, bytes: 0 })

const updateKey = (part: ComputerPart, computer: ComputerName) => JSON.stringify([part, computer])

/** Approximate memory of a notification and its place in the backlog, without the key. */
const notificationBytes = 256

const entryBytes = (key: string, count: number): number =>
  count === 0 ? 0 : 2 * key.length + count * notificationBytes

const setEntry = (backlog: NotificationBacklog, key: string, notifications: ReadonlyArray<Notification>): void => {
  const before = backlog.entries.get(key)?.length ?? 0
  backlog.size += notifications.length - before
  backlog.bytes += entryBytes(key, notifications.length) - entryBytes(key, before)
  // A changed entry moves to the end, after everything that it may depend on.
  backlog.entries.delete(key)
  if (notifications.length > 0) backlog.entries.set(key, notifications)
}

export const addToBacklog = (backlog: NotificationBacklog, notification: Notification): void => {
  switch (notification._tag) {
    case "Updated": {
      const key = updateKey(notification.part, notification.computer)
      if (!backlog.entries.has(key)) setEntry(backlog, key, [notification])
      return
    }
    case "Cancelled":
      return setEntry(backlog, JSON.stringify(["cancelled", notification.agent, notification.reqId]), [notification])
    case "Entered":
    case "Left": {
      const { name, office, role } = notification.membership
      const key = JSON.stringify([role, office, name])
      const before = backlog.entries.get(key) ?? []
      // An Agent forgets a Computer that leaves, and fetches all parts of one that joins.
      if (role === "computer") for (const part of computerParts) setEntry(backlog, updateKey(part, name), [])
      if (before.at(-1)?._tag === notification._tag) return
      return setEntry(backlog, key, before.at(-1)?._tag === "Entered" ? before.slice(0, -1) : [...before, notification])
    }
  }
}

/** The notifications of the backlog in the order of delivery. */
export const backlogNotifications = (backlog: NotificationBacklog): ReadonlyArray<Notification> =>
  [...backlog.entries.values()].flat()
