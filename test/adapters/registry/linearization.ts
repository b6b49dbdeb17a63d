import type { RegistryChange } from "../../../src/application/ports/OfficeRegistry.ts"
import type { MembershipCommand, Capacity } from "../../../src/domain/office/decideMembership.ts"
import type { Membership } from "../../../src/domain/model/Membership.ts"
import { expectedOutcome, type ModelNotification, type ModelSessions } from "../../domain/office/referenceModel.ts"

/** The outcome of a command: "ok" or the reason of its rejection. */
export interface Outcome {
  readonly command: MembershipCommand
  readonly prints: string
}

/** A notice, and whether a leave or disconnect of its session caused it. */
interface Notified extends ModelNotification {
  readonly isOwnWish: boolean
}

/** An order of commands, with its notices and the members after it. */
export interface Order {
  readonly notices: ReadonlyArray<Notified>
  readonly after: ModelSessions
}

/**
 * The first accepted order of concurrent commands in which the model gives the same outcomes. Commands of one session
 * keep their order.
 */
export const explain = (
  before: ModelSessions,
  outcomes: ReadonlyArray<Outcome>,
  capacity: Capacity,
  accepts: (order: Order) => boolean
): Order | undefined => {
  const search = (order: Order, left: ReadonlyArray<Outcome>): Order | undefined => {
    if (left.length === 0) return accepts(order) ? order : undefined
    for (const next of left) {
      const { command, prints } = next
      if (left.find((other) => other.command.sid === command.sid) !== next) continue
      const answer = expectedOutcome(order.after, command, capacity)
      if (answer.result !== prints) continue
      const isOwnWish = command._tag === "Leave" || command._tag === "Disconnect"
      const notices = [...order.notices, ...answer.notifications.map((notice) => ({ ...notice, isOwnWish }))]
      const found = search(
        { notices, after: answer.after },
        left.filter((other) => other !== next)
      )
      if (found !== undefined) return found
    }
    return undefined
  }
  return search({ notices: [], after: before }, outcomes)
}

type Coming = Extract<RegistryChange, { readonly membership: Membership }>

const isAbout = ({ membership, sid, kind }: ModelNotification, change: Coming): boolean =>
  kind === change._tag &&
  sid === change.sid &&
  membership.office === change.membership.office &&
  membership.role === change.membership.role &&
  membership.name === change.membership.name

/**
 * True when a node with these sessions received each change of the order once and with the right recipients. A leave
 * takes effect at its own node at once, before other nodes know; all other changes of an office arrive in order. Those of
 * different offices may not: a node that begins to follow an office first asks for its members.
 */
export const hasReceived = (
  own: ReadonlySet<string>,
  before: ModelSessions,
  { after, notices }: Order,
  received: ReadonlyArray<RegistryChange>
): boolean => {
  const sits = new Map<string, string>()
  for (const { membership, sid } of before)
    if (own.has(sid) && membership !== undefined) sits.set(sid, membership.office)
  const recipients = (office: string, sid: string) =>
    [...sits].flatMap(([other, where]) => (where === office && other !== sid ? [other] : [])).toSorted()
  const concerns = ({ membership, sid }: ModelNotification) =>
    own.has(sid) || recipients(membership.office, sid).length > 0
  const pending = [...notices]
  const evicted: Array<string> = []

  for (const change of received) {
    if (change._tag === "NodeLost") return false
    if (change._tag === "Evicted") {
      evicted.push(change.sid)
      continue
    }
    const { office } = change.membership
    const isHere = (notice: ModelNotification) => notice.membership.office === office
    const next = pending.find((notice) => isHere(notice) && concerns(notice))
    const place = pending.findIndex(
      (notice) => isAbout(notice, change) && (notice === next || (notice.isOwnWish && own.has(notice.sid)))
    )
    if (place < 0) return false
    const skipped = next === undefined ? 0 : pending.indexOf(next)
    pending.splice(place, 1)
    // Earlier changes of the office did not concern the node, and do not later.
    for (let index = Math.min(place, skipped) - 1; index >= 0; index--)
      if (pending[index]?.membership.office === office) pending.splice(index, 1)
    const { _tag, membership, sid } = change
    if (own.has(sid) && _tag === "Left") sits.delete(sid)
    if (change.recipients.toSorted().join() !== recipients(membership.office, sid).join()) return false
    if (own.has(sid) && _tag === "Entered") sits.set(sid, membership.office)
  }
  if (pending.some(concerns)) return false

  const sitsAgain = (sid: string) => after.some((one) => one.sid === sid && one.membership !== undefined)
  const replaced = notices.flatMap((notice) => (notice.replaced && own.has(notice.sid) ? [notice.sid] : []))
  // A member that has joined another office meanwhile may stay.
  const must = replaced.filter((sid) => !sitsAgain(sid))
  const count = (all: ReadonlyArray<string>, sid: string) => all.filter((one) => one === sid).length
  // A member that joins again after its eviction may be replaced again.
  return (
    must.every((sid) => evicted.includes(sid)) && evicted.every((sid) => count(evicted, sid) <= count(replaced, sid))
  )
}
