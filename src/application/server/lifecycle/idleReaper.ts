import { Clock, Duration, Effect } from "effect"
import type { Notifications } from "../membership/Notifications.ts"
import { type Connection, type Connections, isMember } from "../connections/Connections.ts"
import { Limits } from "../Limits.ts"

/** Interval of the scan, and so the precision of its timeouts. */
const scanInterval = Duration.seconds(1)

/**
 * Scans all connections once a second, instead of a timer for each. Flushes deferred notifications, and closes
 * connections that exceed the join timeout or the idle timeout, or whose backlog has grown without a message.
 */
export const startIdleReaper = Effect.fnUntraced(function* (connections: Connections, notifications: Notifications) {
  const clock = yield* Clock.Clock
  const limits = yield* Limits
  const joinTimeout = Duration.toMillis(limits.joinTimeout)
  const idleTimeout = Duration.toMillis(limits.idleTimeout)

  const checkTimeouts = (connection: Connection, now: number) => {
    // The clock may have been set back: then both timeouts start again.
    connection.outsideSince = Math.min(connection.outsideSince, now)
    connection.lastActivityAt = Math.min(connection.lastActivityAt, now)
    if (now - connection.outsideSince > joinTimeout) {
      // A member restarts the timeout, so that it is checked again only after the next one.
      if (isMember(connection)) connection.outsideSince = now
      else connections.closeForLimit(connection, "joinTimeout", `it joined no office in ${joinTimeout / 1000} s`)
    }
    if (now - connection.lastActivityAt > idleTimeout) {
      const { calls, inboundCalls, lookups } = connection
      if (calls.size + inboundCalls.size + lookups > 0) connection.lastActivityAt = now
      else connections.closeForLimit(connection, "idleTimeout", `nothing came or went in ${idleTimeout / 1000} s`)
    }
  }

  const scan = Effect.sync(() => {
    const now = clock.currentTimeMillisUnsafe()
    const drained: Array<Connection> = []
    for (const connection of connections.all()) {
      if (connection.closing) continue
      checkTimeouts(connection, now)
      connections.checkBacklog(connection)
      const { link, notificationBacklog } = connection
      if (notificationBacklog !== undefined && link.backlog() <= limits.notificationBacklogBytes)
        drained.push(connection)
    }
    for (const connection of drained) notifications.flush(connection)
  })

  yield* Effect.sleep(scanInterval).pipe(
    Effect.andThen(scan),
    Effect.catchCause((cause) => Effect.logError("idle check failed", cause)),
    Effect.forever,
    Effect.forkScoped
  )
})
