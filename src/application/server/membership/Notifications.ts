import { Clock, Effect, Result } from "effect"
import { NotificationBacklog } from "../../../domain/office/NotificationBacklog.ts"
import type { Member } from "../../../domain/model/Membership.ts"
import type { Notification } from "../../../domain/model/Notification.ts"
import { defaultLine, lineForVersion } from "../../../domain/wire/lines.ts"
import type { ProtocolLine } from "../../../domain/wire/ProtocolLine.ts"
import { parseVersion } from "../../../domain/wire/version.ts"
import { jsonBody } from "../../ports/Body.ts"
import { NodeLink } from "../nodes/NodeLink.ts"
import type { Connection, Connections } from "../connections/Connections.ts"
import { Limits } from "../Limits.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"

/**
 * Deferred notifications of one client: every member of a full office joined or left, and changed in every part. A
 * client that misses more is closed, and fetches everything when it reconnects.
 */
const maxDeferredNotifications = 8192

export const lineOf = ({ version }: Member): ProtocolLine =>
  Result.match(parseVersion(version), { onSuccess: (parsed) => lineForVersion(parsed), onFailure: () => defaultLine })

const encodeNotification = (line: ProtocolLine, notification: Notification) => {
  const { body, event } = line.encodeNotification(notification)
  return { event, body: jsonBody(body) }
}
type EncodedNotification = ReturnType<typeof encodeNotification>

const send = ({ link }: Connection, { body, event }: EncodedNotification): void => void link.post(event, body)

export type Notifications = Effect.Success<ReturnType<typeof makeNotifications>>

/**
 * Notifies members of events in their office, best effort. Notifications to a client that reads too slowly are deferred
 * and merged until only those remain that it needs to have the same view as the others.
 */
export const makeNotifications = Effect.fnUntraced(function* (connections: Connections) {
  const clock = yield* Clock.Clock
  const { notificationBacklogBytes } = yield* Limits
  const metrics = yield* ServerMetrics
  const nodeLink = yield* NodeLink
  const defer = (connection: Connection, notification: Notification) => {
    const backlog = (connection.notificationBacklog ??= new NotificationBacklog())
    const before = backlog.size
    backlog.add(notification)
    connections.checkBacklog(connection)
    for (let saved = before + 1 - backlog.size; saved > 0; saved--) metrics.dropped("notification")
    if (backlog.size <= maxDeferredNotifications) return
    const detail = `too slow: it has missed ${maxDeferredNotifications} notifications`
    connections.closeForLimit(connection, "notificationBacklogBytes", detail)
  }

  /** Sends the deferred notifications of a client without regard to its send backlog. */
  const flush = (connection: Connection): void => {
    const { line, notificationBacklog } = connection
    if (notificationBacklog === undefined) return
    connection.notificationBacklog = undefined
    for (const notification of notificationBacklog.list()) send(connection, encodeNotification(line, notification))
  }

  /** Notifies sessions of this node. */
  const notify = (recipients: ReadonlyArray<string>, notification: Notification): void => {
    const now = clock.currentTimeMillisUnsafe()
    const isAgentLeft = notification._tag === "Left" && notification.membership.role === "agent"
    // The members of an office share a line.
    let encoded: { readonly line: ProtocolLine; readonly message: EncodedNotification } | undefined
    for (const sid of recipients) {
      const connection = connections.get(sid)
      if (connection === undefined || connection.closing) continue
      connection.lastActivityAt = now
      // A Computer tells a later Agent apart by the departure of the earlier one: it comes before the later one's calls.
      if (isAgentLeft) flush(connection)
      const backlog = isAgentLeft ? 0 : connection.link.backlog()
      if (backlog <= notificationBacklogBytes && connection.notificationBacklog === undefined) {
        const { line } = connection
        if (encoded?.line !== line) encoded = { line, message: encodeNotification(line, notification) }
        send(connection, encoded.message)
        continue
      }
      defer(connection, notification)
      if (backlog <= notificationBacklogBytes) flush(connection)
    }
  }

  const notifyNode = (node: string, members: ReadonlyArray<Member>, notification: Notification) => {
    for (const [line, recipients] of Map.groupBy(members, lineOf)) {
      const { body, event } = encodeNotification(line, notification)
      const sids = recipients.map(({ sid }) => sid)
      nodeLink.notify(node, sids, event, body)
    }
  }

  /** Notifies members of any node. Another node gets one message for all of its members. */
  const notifyMembers = (members: ReadonlyArray<Member>, notification: Notification): void => {
    const local: Array<string> = []
    const remote: Array<Member> = []
    for (const member of members) {
      if (member.node === nodeLink.node) local.push(member.sid)
      else remote.push(member)
    }
    for (const [node, recipients] of Map.groupBy(remote, (member) => member.node)) {
      notifyNode(node, recipients, notification)
    }
    notify(local, notification)
  }

  return { flush, notify, notifyMembers }
})
