import { type Notification, type ComputerPart, computerParts } from "../model/Notification.ts"
import type { ComputerName } from "../model/ids.ts"

const updateKey = (part: ComputerPart, computer: ComputerName) => JSON.stringify([part, computer])

/** Approximate memory of a notification and its place in the backlog, without the key. */
const notificationBytes = 256

const entryBytes = (key: string, count: number) => (count === 0 ? 0 : 2 * key.length + count * notificationBytes)

/**
 * The notifications that a slow member has not received. Combines them without changing the member's final view:
 * repeated updates count once, and a join followed by a leave cancels out.
 */
export class NotificationBacklog {
  readonly entries = new Map<string, ReadonlyArray<Notification>>()
  size = 0
  /** Approximate memory of the entries. */
  bytes = 0

  add(notification: Notification): void {
    switch (notification._tag) {
      case "Updated": {
        const key = updateKey(notification.part, notification.computer)
        return this.entries.has(key) ? undefined : this.#set(key, [notification])
      }
      case "Cancelled":
        return this.#set(JSON.stringify(["cancelled", notification.agent, notification.reqId]), [notification])
      case "Entered":
      case "Left": {
        const { name, office, role } = notification.membership
        const key = JSON.stringify([role, office, name])
        const before = this.entries.get(key) ?? []
        // An Agent forgets a Computer that leaves, and fetches all parts of one that joins.
        if (role === "computer") for (const part of computerParts) this.#set(updateKey(part, name), [])
        const last = before.at(-1)?._tag
        if (last !== notification._tag)
          this.#set(key, last === "Entered" ? before.slice(0, -1) : [...before, notification])
      }
    }
  }

  /** All notifications in the order of delivery. */
  list(): ReadonlyArray<Notification> {
    return [...this.entries.values()].flat()
  }

  #set(key: string, notifications: ReadonlyArray<Notification>): void {
    const before = this.entries.get(key)?.length ?? 0
    this.size += notifications.length - before
    this.bytes += entryBytes(key, notifications.length) - entryBytes(key, before)
    // A changed entry moves to the end, after everything that it may depend on.
    this.entries.delete(key)
    if (notifications.length > 0) this.entries.set(key, notifications)
  }
}
