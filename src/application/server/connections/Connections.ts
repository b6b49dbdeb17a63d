import { Clock, Effect, FiberSet, Scope, type Semaphore } from "effect"
import type { Identity } from "../../../domain/model/Identity.ts"
import type { SessionId } from "../../../domain/model/ids.ts"
import type { Membership } from "../../../domain/model/Membership.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import type { NotificationBacklog } from "../../../domain/office/NotificationBacklog.ts"
import { makeTokenBucket, type TokenBucket } from "../../../domain/tokenBucket.ts"
import type { ProtocolLine } from "../../../domain/wire/ProtocolLine.ts"
import type { Registration } from "../../ports/OfficeRegistry.ts"
import { AdmissionRejected, type Link } from "../../ports/Transport.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"
import type { InFlightCall } from "./InFlightCall.ts"
import { type MemberFeatures, noMemberFeatures } from "../../../domain/office/memberFeatures.ts"
import { makeBufferLimit } from "../../shared/BufferLimit.ts"
import { formatLimitName, Limits } from "../Limits.ts"
import type { Body } from "../../ports/Body.ts"

type ConnectionParts = Pick<Connection, "link" | "line" | "identity" | "registration"> &
  Partial<Pick<Connection, "features" | "isOperator">>

/** The Server's record of one client, from its admission until its link has closed. Times are milliseconds of the epoch. */
export class Connection {
  readonly link: Link
  readonly line: ProtocolLine
  readonly identity: Identity
  readonly registration: Registration
  /** It is of an operator of the page, in this process. */
  readonly isOperator: boolean
  /** What it offers to operators. */
  readonly features: MemberFeatures
  /** The office in which an operator calls tools beside the Agent: its connection has the rights of a member there. */
  operates: Membership | undefined
  /** Rate limit of its messages. */
  readonly bucket: TokenBucket
  // Made when they are needed: most members are idle.
  #calls: Set<InFlightCall> | undefined
  #inboundCalls: Set<InFlightCall> | undefined
  /** Cluster lookups for this Agent, of Computers that are not in its office. They count as calls. */
  lookups = 0
  /** Bytes of its requests in progress. */
  requestBytes = 0
  /** Time of the last message in either direction. */
  lastActivityAt: number
  /** Time since which it is in no office, or at which it was last found in one. */
  outsideSince: number
  /** Joins and leaves in progress. `membershipLock` runs them one after the other. */
  pendingMembershipChanges = 0
  membershipLock: Semaphore.Semaphore | undefined
  /** Notifications that are deferred because the client reads too slowly. */
  notificationBacklog: NotificationBacklog | undefined
  /** The Server is closing the link. */
  closing = false

  constructor(parts: ConnectionParts, bucket: TokenBucket, now: number) {
    this.link = parts.link
    this.line = parts.line
    this.identity = parts.identity
    this.registration = parts.registration
    this.isOperator = parts.isOperator ?? false
    this.features = parts.features ?? noMemberFeatures
    this.bucket = bucket
    this.lastActivityAt = now
    this.outsideSince = now
  }

  /** Calls by Agents of this node: from this Agent, or to this Computer. */
  get calls(): Set<InFlightCall> {
    return (this.#calls ??= new Set())
  }
  /** Calls by other nodes to this Computer. */
  get inboundCalls(): Set<InFlightCall> {
    return (this.#inboundCalls ??= new Set())
  }
}

export const isMember = ({ registration }: Connection): boolean => registration.session.membership._tag === "Some"

/** Recipients, or listed members, that cost as much as one message. */
const recipientsPerToken = 16

/** Charges a message by the number of its recipients; the balance may become negative. */
export const chargeFanOut = ({ bucket }: Connection, recipients: number): void => {
  bucket.tokens -= Math.floor(recipients / recipientsPerToken)
}

/** Reason codes of the log for connections that a limit closed; other limits go by their own names. */
const closeReasons: { readonly [limit in keyof Limits]?: string } = {
  messagesPerSecond: "rate_limit_flood",
  backlogBytes: "send_backlog_exceeded",
  totalBacklogBytes: "total_backlog_exceeded",
  notificationBacklogBytes: "notification_backlog_exceeded"
}

/** Makes the function that closes a connection that exceeded a limit, in the background. */
const makeCloseForLimit = Effect.gen(function* () {
  const metrics = yield* ServerMetrics
  const run = yield* FiberSet.makeRuntime<never>()
  /** `detail` is the close reason of the link. */
  return (connection: Connection, limit: keyof Limits, detail: string): void => {
    if (connection.closing) return
    connection.closing = true
    connection.notificationBacklog = undefined
    metrics.limitExceeded(limit)
    const { link } = connection
    const reason = closeReasons[limit] ?? formatLimitName(limit)
    // Later and in another fiber: the caller may handle or send a message of this link, and the close interrupts that.
    run(
      Effect.yieldNow.pipe(
        Effect.andThen(Effect.logWarning("connection closed", { sid: link.id, reason, detail })),
        Effect.andThen(link.close(detail))
      )
    )
  }
})

export type Connections = Effect.Success<typeof makeConnections>

/** Keeps the connections of one Server by session id. */
export const makeConnections = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const limits = yield* Limits
  const metrics = yield* ServerMetrics
  const { backlogBytes, connections: maxConnections, totalBacklogBytes } = limits
  const rate = { perSecond: limits.messagesPerSecond, burst: limits.messageBurst }
  const links = new Set<Link>()
  const connections = new Map<SessionId, Connection>()

  const takeSlot = (link: Link) => {
    if (links.size < maxConnections) return Effect.succeed(links.add(link))
    metrics.limitExceeded("connections")
    return new AdmissionRejected({
      code: errorCodes.unavailable,
      message: `This Server has ${maxConnections} connections and takes no more`,
      reason: "too_many_connections",
      retryable: true
    })
  }

  const releaseSlot = (link: Link) =>
    Effect.sync(() => {
      links.delete(link)
      const connection = connections.get(link.id)
      if (connection !== undefined) backlogs.remove(connection)
      connections.delete(link.id)
    })

  const closeForLimit = yield* makeCloseForLimit

  const backlogs = yield* makeBufferLimit<Connection>(totalBacklogBytes, {
    heldBytes: ({ link, notificationBacklog }) => link.backlog() + (notificationBacklog?.bytes ?? 0),
    passedBytes: ({ link }) => link.sentBytes(),
    close: (connection, detail) => closeForLimit(connection, "totalBacklogBytes", detail)
  })

  const checkBacklog = (connection: Connection): void => {
    backlogs.update(connection)
    const bytes = connection.link.backlog()
    if (bytes > backlogBytes) closeForLimit(connection, "backlogBytes", `too slow: ${bytes} bytes wait for it`)
  }

  return {
    /** Reserves a slot for a link as long as the scope, which then runs `disconnect` first. Fails without a free slot. */
    reserve: (link: Link, disconnect: (sid: SessionId) => Effect.Effect<void>) => {
      // One small function, since every member keeps it.
      const release = () => Effect.ensuring(disconnect(link.id), releaseSlot(link))
      const addRelease = (scope: Scope.Scope) => Effect.andThen(takeSlot(link), Scope.addFinalizerExit(scope, release))
      return Effect.uninterruptible(Effect.flatMap(Effect.scope, addRelease))
    },
    /** Opens the connection of a link that has a slot. Releasing the slot removes it. */
    open: (parts: ConnectionParts): Connection => {
      const now = clock.currentTimeMillisUnsafe()
      const connection = new Connection(parts, makeTokenBucket(rate, now), now)
      // A link that closed during its admission has lost its slot, and nothing would remove the connection.
      if (links.has(parts.link)) connections.set(parts.link.id, connection)
      return connection
    },
    get: (sid: SessionId) => connections.get(sid),
    /** A snapshot of the open connections. */
    all: (): ReadonlyArray<Connection> => [...connections.values()],
    closeForLimit,
    /** Sends an encoded notification, best effort. It cannot be merged with others: a slow reader misses it. */
    forward: (connection: Connection, event: string, body: Body): void => {
      if (connection.closing) return
      connection.lastActivityAt = clock.currentTimeMillisUnsafe()
      if (connection.link.backlog() <= limits.notificationBacklogBytes) connection.link.post(event, body)
      else metrics.dropped("notification")
    },
    /** Closes a connection whose send backlog exceeds the limit, and the slowest readers when all backlogs do. */
    checkBacklog,
    onBacklogChange: ({ id }: Link): void => {
      const connection = connections.get(id)
      if (connection !== undefined) checkBacklog(connection)
    },
    /** Closes every link, also those that still authenticate. */
    closeAll: (reason: string) =>
      Effect.forEach([...links], (link) => link.close(reason), { discard: true, concurrency: "unbounded" }),
    /** How many links have a slot. */
    size: () => links.size,
    /** Send backlog of all connections and their deferred notifications, in bytes. */
    totalBacklogBytes: backlogs.totalBytes
  }
})
