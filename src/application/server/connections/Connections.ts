import { Effect, FiberSet, type Scope } from "effect"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { makeTokenBucket } from "../../../domain/tokenBucket.ts"
import { AdmissionRejected, type Link } from "../../ports/Transport.ts"
import type { Connection, ConnectionParts } from "./Connection.ts"
import { formatLimitName, type Limits } from "./Limits.ts"
import type { ServerContext } from "../lifecycle/ServerContext.ts"

/** The connections of this Server by session id. */
export interface Connections {
  /**
   * Reserves a slot for a link as long as the scope. Links count from before their authentication. Fails when every
   * slot is taken.
   */
  readonly reserve: (link: Link) => Effect.Effect<void, AdmissionRejected, Scope.Scope>
  /** Opens the connection of a link that has a slot. Releasing the slot removes it. */
  readonly open: (parts: ConnectionParts) => Connection
  readonly get: (sid: string) => Connection | undefined
  /** A snapshot of the open connections. */
  readonly all: () => ReadonlyArray<Connection>
  /** Closes a connection that exceeded a limit, in the background. `detail` is the link's close reason. */
  readonly closeForLimit: (connection: Connection, limit: keyof Limits, detail: string) => void
  /** The send backlog of a connection in bytes; closes the connection when it exceeds the limit. */
  readonly checkBacklog: (connection: Connection) => number
  /** Closes every link, also those that still authenticate. */
  readonly closeAll: (reason: string) => Effect.Effect<void>
  /** How many links have a slot. */
  readonly size: () => number
  /** Send backlog of all links, in bytes. */
  readonly totalBacklogBytes: () => number
}

/** Reason codes of the log for connections that a limit closed; other limits go by their own names. */
const closeReasons: { readonly [limit in keyof Limits]?: string } = {
  messagesPerSecond: "rate_limit_flood",
  backlogBytes: "send_backlog_exceeded",
  notificationBacklogBytes: "notification_backlog_exceeded"
}

/** Keeps the connections of one Server. */
export const makeConnections = Effect.fnUntraced(function* ({
  clock,
  limits,
  metrics
}: Pick<ServerContext, "clock" | "limits" | "metrics">): Effect.fn.Return<Connections, never, Scope.Scope> {
  const { backlogBytes, connections: maxConnections } = limits
  const rate = { perSecond: limits.messagesPerSecond, burst: limits.messageBurst }
  const run = yield* FiberSet.makeRuntime<never>()
  const links = new Set<Link>()
  const connections = new Map<string, Connection>()

  const takeSlot = (link: Link) =>
    Effect.suspend(() => {
      if (links.size < maxConnections) return Effect.sync(() => void links.add(link))
      metrics.limitExceeded("connections")
      return new AdmissionRejected({
        code: errorCodes.unavailable,
        message: `This Server has ${maxConnections} connections and takes no more`,
        reason: "too_many_connections",
        retryable: true
      })
    })

  const releaseSlot = (link: Link) =>
    Effect.sync(() => {
      links.delete(link)
      connections.delete(link.id)
    })

  const open = (parts: ConnectionParts): Connection => {
    const now = clock.currentTimeMillisUnsafe()
    const connection: Connection = {
      ...parts,
      bucket: makeTokenBucket(rate, now),
      calls: new Set(),
      inboundCalls: new Set(),
      lookups: 0,
      lastActivityAt: now,
      outsideSince: now,
      pendingMembershipChanges: 0,
      membershipLock: undefined,
      notificationBacklog: undefined,
      closing: false
    }
    // A link that closed during its admission has lost its slot, and nothing would remove the connection.
    if (links.has(parts.link)) connections.set(parts.link.id, connection)
    return connection
  }

  const closeForLimit: Connections["closeForLimit"] = (connection, limit, detail) => {
    if (connection.closing) return
    connection.closing = true
    connection.notificationBacklog = undefined
    metrics.limitExceeded(limit)
    const { link } = connection
    const reason = closeReasons[limit] ?? formatLimitName(limit)
    // In another fiber: the caller may handle a message of this link, and closing the link interrupts that.
    run(Effect.andThen(Effect.logWarning("connection closed", { sid: link.id, reason, detail }), link.close(detail)))
  }

  return {
    reserve: (link) => Effect.acquireRelease(takeSlot(link), () => releaseSlot(link)),
    open,
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
    closeAll: (reason) =>
      Effect.forEach([...links], (link) => link.close(reason), { discard: true, concurrency: "unbounded" }),
    size: () => links.size,
    totalBacklogBytes: () => {
      let bytes = 0
      for (const link of links) bytes += link.backlog()
      return bytes
    }
  }
})
