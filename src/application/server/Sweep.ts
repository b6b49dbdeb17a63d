import { Clock, Duration, Effect, Option } from "effect"
import { Cancellation } from "./Cancellation.ts"
import { type Connection, Connections } from "./Connections.ts"
import { Limits } from "./Limits.ts"
import { Membership } from "./Membership.ts"
import { Nodes } from "./Nodes.ts"
import { Notifications } from "./Notifications.ts"

/** How often connections are looked at. Their times are kept as exactly as this. */
const pause = Duration.seconds(1)

/**
 * Looks at every connection once a second until the scope closes, in place of timers and fibers for each: tells slow
 * readers what was put off, and lets those go that read nothing at all, stay outside, or have nothing to say.
 */
export const sweeping = Effect.gen(function* () {
  const membership = yield* Membership
  const connections = yield* Connections
  const notifications = yield* Notifications
  const cancellation = yield* Cancellation
  const nodes = yield* Nodes
  const limits = yield* Limits
  const { backlogNotices } = limits
  const joinTime = Duration.toMillis(limits.joinTime)
  const idleTime = Duration.toMillis(limits.idleTime)
  const clock = yield* Clock.Clock

  const isSeated = (sid: string): boolean =>
    Option.exists(membership.session(sid), ({ seat }) => Option.isSome(seat))

  const checkTimes = (connection: Connection, now: number) => {
    const { id } = connection.link
    if (now - connection.outsideAt > joinTime) {
      // Whoever sits somewhere is not asked again before it may have been outside for so long once more.
      if (isSeated(id)) connection.outsideAt = now
      else connections.dismiss(connection, "joinTime", `it joined no office in ${joinTime / 1000} s`)
    }
    if (now - connection.lastAt > idleTime) {
      if (cancellation.pending(id) > 0 || nodes.serving(id) > 0) connection.lastAt = now
      else connections.dismiss(connection, "idleTime", `nothing came or went in ${idleTime / 1000} s`)
    }
  }

  const sweep = Effect.suspend(() => {
    const now = clock.currentTimeMillisUnsafe()
    const ready: Array<Connection> = []
    for (const connection of connections.all()) {
      if (connection.dismissed) continue
      checkTimes(connection, now)
      const backlog = connections.backlog(connection)
      if (connection.missed !== undefined && backlog <= backlogNotices) ready.push(connection)
    }
    return Effect.forEach(ready, notifications.catchUp, { discard: true })
  })

  yield* Effect.sleep(pause).pipe(
    Effect.andThen(sweep),
    Effect.catchCause((cause) => Effect.logError("looking at the connections failed", cause)),
    Effect.forever,
    Effect.forkScoped
  )
})
