import type { Semaphore } from "effect"
import type { Identity } from "../../../domain/model/Identity.ts"
import type { NotificationBacklog } from "../../../domain/office/NotificationBacklog.ts"
import type { TokenBucket } from "../../../domain/tokenBucket.ts"
import type { ProtocolLine } from "../../../domain/wire/lines.ts"
import type { Registration } from "../../ports/OfficeRegistry.ts"
import type { Link } from "../../ports/Transport.ts"
import type { InFlightCall } from "../routing/InFlightCall.ts"

/** What a new connection consists of. */
export interface ConnectionParts {
  readonly link: Link
  readonly line: ProtocolLine
  readonly identity: Identity
  readonly registration: Registration
}

/** The Server's record of one client, from its admission until its link has closed. Times are milliseconds of the epoch. */
export interface Connection extends ConnectionParts {
  /** Rate limit of its messages. */
  readonly bucket: TokenBucket
  /** Calls by Agents of this node: from this Agent, or to this Computer. */
  readonly calls: Set<InFlightCall>
  /** Calls by other nodes to this Computer. */
  readonly inboundCalls: Set<InFlightCall>
  /** Cluster lookups for this Agent, of Computers that are not in its office. They count as calls. */
  lookups: number
  /** Time of the last message in either direction. */
  lastActivityAt: number
  /** Time since which it is in no office, or at which it was last found in one. */
  outsideSince: number
  /** Joins and leaves in progress. `membershipLock` runs them one after the other. */
  pendingMembershipChanges: number
  membershipLock: Semaphore.Semaphore | undefined
  /** Notifications that are deferred because the client reads too slowly. */
  notificationBacklog: NotificationBacklog | undefined
  /** The Server is closing the link. */
  closing: boolean
}

/** True while the client is in an office. */
export const isMember = ({ registration }: Connection): boolean => registration.session.membership._tag === "Some"

/** True while the client has calls in flight in either direction. */
export const hasCalls = ({ calls, inboundCalls, lookups }: Connection): boolean =>
  calls.size + inboundCalls.size + lookups > 0

/** Recipients or listed members for the price of one message. */
const recipientsPerToken = 16

/** Charges a message by the number of its recipients; the balance may become negative. */
export const chargeFanOut = ({ bucket }: Connection, recipients: number): void => {
  bucket.tokens -= Math.floor(recipients / recipientsPerToken)
}
