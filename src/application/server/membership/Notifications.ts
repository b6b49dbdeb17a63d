import { Clock, Context, Effect, Layer } from "effect"
import {
  addToBacklog,
  backlogNotifications,
  makeBacklog
} from "../../../domain/office/NotificationBacklog.ts"
import type { Member } from "../../../domain/model/Membership.ts"
import type { Notification } from "../../../domain/model/Notification.ts"
import type { ProtocolLine } from "../../../domain/wire/lines.ts"
import { type Body, jsonBody } from "../../ports/Body.ts"
import { type Connection, Connections } from "../connections/Connections.ts"
import { Limits } from "../connections/Limits.ts"
import { ClusterNodes } from "../cluster/ClusterNodes.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"

interface EncodedNotification {
  readonly event: string
  readonly body: Body
}

/**
 * How many notices a member that reads too slowly may have ahead: every member of a full office may have come or gone
 * and changed in every part. Whoever misses more comes back and asks anew.
 */
const maxDeferredNotices = 8192

const encodeNotification = (line: ProtocolLine, notification: Notification): EncodedNotification => {
  const { body, event } = line.encodeNotification(notification)
  return { event, body: jsonBody(body) }
}

const send = ({ link }: Connection, { body, event }: EncodedNotification): Effect.Effect<void> =>
  Effect.ignore(link.notify(event, body))

/**
 * Tells members what happened in their office. Delivery is best effort: who is gone misses it. A member that reads too
 * slowly is told later, and no more than it needs to have the same view as the others.
 */
export class Notifications extends Context.Service<
  Notifications,
  {
    /** Tells sessions of this node. */
    readonly notify: (recipients: ReadonlyArray<string>, notification: Notification) => Effect.Effect<void>
    /** The same for members of an office, on whatever node they are: other nodes hear it once for all of theirs. */
    readonly notifyMembers: (
      members: ReadonlyArray<Member>,
      notification: Notification
    ) => Effect.Effect<void>
    /** Tells a member what was put off, however much still waits for it. */
    readonly flush: (connection: Connection) => Effect.Effect<void>
  }
>()("a2c-smcp/application/server/Notifications") {
  static readonly layer = Layer.effect(
    Notifications,
    Effect.gen(function* () {
      const connections = yield* Connections
      const { notificationBacklogBytes } = yield* Limits
      const clock = yield* Clock.Clock
      const metrics = yield* ServerMetrics
      const nodes = yield* ClusterNodes

      const defer = (connection: Connection, notification: Notification) => {
        const backlog = (connection.notificationBacklog ??= makeBacklog())
        const before = backlog.size
        addToBacklog(backlog, notification)
        for (let saved = before + 1 - backlog.size; saved > 0; saved--) metrics.dropped("notification")
        if (backlog.size <= maxDeferredNotices) return
        connections.closeForLimit(
          connection,
          "notificationBacklogBytes",
          `too slow: it has missed ${maxDeferredNotices} notifications`
        )
      }

      const flush = (connection: Connection) =>
        Effect.suspend(() => {
          const { line, notificationBacklog } = connection
          if (notificationBacklog === undefined) return Effect.void
          connection.notificationBacklog = undefined
          return Effect.forEach(
            backlogNotifications(notificationBacklog),
            (notification) => send(connection, encodeNotification(line, notification)),
            {
              discard: true
            }
          )
        })

      const notify = (recipients: ReadonlyArray<string>, notification: Notification) =>
        Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          const encoded = new Map<ProtocolLine, EncodedNotification>()
          const encodeOnce = (line: ProtocolLine) => {
            const message = encodeNotification(line, notification)
            encoded.set(line, message)
            return message
          }
          return Effect.forEach(
            recipients,
            (sid) => {
              const connection = connections.get(sid)
              if (connection === undefined || connection.closing) return Effect.void
              connection.lastActivityAt = now
              const backlog = connections.checkBacklog(connection)
              if (backlog <= notificationBacklogBytes && connection.notificationBacklog === undefined) {
                return send(connection, encoded.get(connection.line) ?? encodeOnce(connection.line))
              }
              if (connection.closing) return Effect.void
              defer(connection, notification)
              return backlog <= notificationBacklogBytes ? flush(connection) : Effect.void
            },
            { discard: true }
          )
        })

      const notifyNode = (node: string, members: ReadonlyArray<Member>, notification: Notification) => {
        const lines = Map.groupBy(members, (member) => nodes.remoteConnection(member).line)
        for (const [line, recipients] of lines) {
          const { body, event } = encodeNotification(line, notification)
          nodes.notify(
            node,
            recipients.map(({ sid }) => sid),
            event,
            body
          )
        }
      }

      const notifyMembers = (members: ReadonlyArray<Member>, notification: Notification) =>
        Effect.suspend(() => {
          const here: Array<string> = []
          const elsewhere: Array<Member> = []
          for (const member of members) {
            if (member.node === nodes.node) here.push(member.sid)
            else elsewhere.push(member)
          }
          if (elsewhere.length > 0) {
            for (const [node, those] of Map.groupBy(elsewhere, (member) => member.node)) {
              notifyNode(node, those, notification)
            }
          }
          return notify(here, notification)
        })

      return Notifications.of({ flush, notify, notifyMembers })
    })
  )
}
