import { Clock, Context, Effect, FiberSet, Layer, type Scope, type Semaphore } from "effect"
import type { Identity } from "../../../domain/model/Identity.ts"
import type { NotificationBacklog } from "../../../domain/office/NotificationBacklog.ts"
import type { ProtocolLine } from "../../../domain/wire/lines.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import {
  chargeTokens,
  makeTokenBucket,
  type RateLimit,
  type TokenBucket
} from "../../../domain/tokenBucket.ts"
import { AdmissionRejected, type Link } from "../../ports/Transport.ts"
import { Limits } from "./Limits.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"

/** An open connection, the protocol line it speaks, and what its limits need to know. Times are of the epoch, in ms. */
export interface Connection {
  readonly link: Link
  readonly line: ProtocolLine
  /** Who is at the other end: nobody until it is let in. */
  identity: Identity
  /** What it may still send. */
  readonly bucket: TokenBucket
  /** When a message last went either way. */
  lastActivityAt: number
  /** When it began to sit in no office, or was last seen in one. */
  outsideSince: number
  /** How many of its joins and leaves are under way, and whose turn it is: they are done one after the other. */
  pendingMembershipChanges: number
  membershipLock: Semaphore.Semaphore | undefined
  /** What it has not been told because it reads too slowly. */
  notificationBacklog: NotificationBacklog | undefined
  /** It has been told to go, and is as good as gone. */
  closing: boolean
}

/** Members that may be told of something, or listed, for the price of one message. */
const recipientsPerToken = 16

/** Counts what a message of a member has cost because of all those whom it concerned. */
export const chargeFanOut = ({ bucket }: Connection, members: number): void =>
  chargeTokens(bucket, Math.floor(members / recipientsPerToken))

/** Whoever has not been let in yet. */
export const unauthenticated: Identity = {
  subject: "nobody",
  grants: { rights: [], offices: [], names: [] },
  expiresAt: undefined
}

/** Who is connected to this Server, by session id. */
export class Connections extends Context.Service<
  Connections,
  {
    /** Adds a connection for as long as the scope, unless there are too many. */
    readonly add: (
      link: Link,
      line: ProtocolLine
    ) => Effect.Effect<Connection, AdmissionRejected, Scope.Scope>
    readonly get: (sid: string) => Connection | undefined
    /** All of them, as they are right now. */
    readonly all: () => ReadonlyArray<Connection>
    /** Lets a connection go that has exceeded a limit. Its link closes a moment later, in the background. */
    readonly closeForLimit: (connection: Connection, limit: keyof Limits, reason: string) => void
    /** The bytes that wait for a connection; it is let go when they are too many. */
    readonly checkBacklog: (connection: Connection) => number
    /** How many there are. */
    readonly size: () => number
    /** The bytes that wait for all of them together. */
    readonly totalBacklogBytes: () => number
  }
>()("a2c-smcp/application/server/Connections") {
  static readonly layer = Layer.effect(
    Connections,
    Effect.gen(function* () {
      const limits = yield* Limits
      const { backlogBytes, connections: maxConnections } = limits
      const rate: RateLimit = { perSecond: limits.messagesPerSecond, burst: limits.messageBurst }
      const clock = yield* Clock.Clock
      const metrics = yield* ServerMetrics
      const run = yield* FiberSet.makeRuntime<never>()
      const connections = new Map<string, Connection>()

      const register = (link: Link, line: ProtocolLine) =>
        Effect.suspend(() => {
          if (connections.size >= maxConnections) {
            metrics.limitExceeded("connections")
            return new AdmissionRejected({
              code: errorCodes.unavailable,
              message: `This Server has ${maxConnections} connections and takes no more`,
              reason: "too_many_connections",
              retryable: true
            })
          }
          const now = clock.currentTimeMillisUnsafe()
          const connection: Connection = {
            link,
            line,
            identity: unauthenticated,
            bucket: makeTokenBucket(rate, now),
            lastActivityAt: now,
            outsideSince: now,
            pendingMembershipChanges: 0,
            membershipLock: undefined,
            notificationBacklog: undefined,
            closing: false
          }
          connections.set(link.id, connection)
          return Effect.succeed(connection)
        })

      const closeForLimit = (connection: Connection, limit: keyof Limits, reason: string) => {
        if (connection.closing) return
        connection.closing = true
        connection.notificationBacklog = undefined
        metrics.limitExceeded(limit)
        const { link } = connection
        // Not where it was noticed: that may be a message of this very link, which its close interrupts.
        run(
          Effect.andThen(
            Effect.logWarning("connection closed", { sid: link.id, limit, reason }),
            link.close(reason)
          )
        )
      }

      return Connections.of({
        add: (link, line) =>
          Effect.acquireRelease(register(link, line), () =>
            Effect.sync(() => void connections.delete(link.id))
          ),
        get: (sid) => connections.get(sid),
        all: () => [...connections.values()],
        closeForLimit,
        checkBacklog: (connection) => {
          const bytes = connection.link.backlog()
          if (bytes > backlogBytes) {
            closeForLimit(connection, "backlogBytes", `too slow: ${bytes} bytes wait for it`)
          }
          return bytes
        },
        size: () => connections.size,
        totalBacklogBytes: () => {
          let bytes = 0
          for (const { link } of connections.values()) bytes += link.backlog()
          return bytes
        }
      })
    })
  )
}
