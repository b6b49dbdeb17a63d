import { Clock, Duration, Effect, Option } from "effect"
import { InFlightCalls } from "../routing/InFlightCalls.ts"
import { type Connection, Connections } from "./Connections.ts"
import { Limits } from "./Limits.ts"
import { MembershipCoordinator } from "../membership/MembershipCoordinator.ts"
import { ClusterNodes } from "../cluster/ClusterNodes.ts"
import { Notifications } from "../membership/Notifications.ts"

/** How often connections are looked at. Their times are kept as exactly as this. */
const scanInterval = Duration.seconds(1)

/**
 * Looks at every connection once a second until the scope closes, in place of timers and fibers for each: tells slow
 * readers what was put off, and lets those go that read nothing at all, stay outside, or have nothing to say.
 */
export const startIdleReaper = Effect.gen(function* () {
  const coordinator = yield* MembershipCoordinator
  const connections = yield* Connections
  const notifications = yield* Notifications
  const inFlightCalls = yield* InFlightCalls
  const nodes = yield* ClusterNodes
  const limits = yield* Limits
  const { notificationBacklogBytes } = limits
  const joinTimeout = Duration.toMillis(limits.joinTimeout)
  const idleTimeout = Duration.toMillis(limits.idleTimeout)
  const clock = yield* Clock.Clock

  const isMember = (sid: string): boolean =>
    Option.exists(coordinator.session(sid), ({ membership }) => Option.isSome(membership))

  const checkTimeouts = (connection: Connection, now: number) => {
    const { id } = connection.link
    if (now - connection.outsideSince > joinTimeout) {
      // Whoever sits somewhere is not asked again before it may have been outside for so long once more.
      if (isMember(id)) connection.outsideSince = now
      else
        connections.closeForLimit(connection, "joinTimeout", `it joined no office in ${joinTimeout / 1000} s`)
    }
    if (now - connection.lastActivityAt > idleTimeout) {
      if (inFlightCalls.count(id) > 0 || nodes.inboundCount(id) > 0) connection.lastActivityAt = now
      else
        connections.closeForLimit(
          connection,
          "idleTimeout",
          `nothing came or went in ${idleTimeout / 1000} s`
        )
    }
  }

  const scan = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    const drained: Array<Connection> = []
    for (const connection of connections.all()) {
      if (connection.closing) continue
      checkTimeouts(connection, now)
      const backlog = connections.checkBacklog(connection)
      if (connection.notificationBacklog !== undefined && backlog <= notificationBacklogBytes)
        drained.push(connection)
    }
    return Effect.forEach(drained, notifications.flush, { discard: true })
  })

  yield* Effect.sleep(scanInterval).pipe(
    Effect.andThen(scan),
    Effect.catchCause((cause) => Effect.logError("looking at the connections failed", cause)),
    Effect.forever,
    Effect.forkScoped
  )
})
