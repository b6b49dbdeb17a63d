import { Clock, Context, Effect, Layer } from "effect"
import { addMissed, missedNotices, nothingMissed } from "../../domain/office/missed.ts"
import type { Member } from "../../domain/office/membership.ts"
import type { Notice } from "../../domain/office/notice.ts"
import type { Line } from "../../domain/protocol/lines.ts"
import { type Body, jsonBody } from "../ports/Body.ts"
import { type Connection, Connections } from "./Connections.ts"
import { Limits } from "./Limits.ts"
import { Nodes } from "./Nodes.ts"
import { Tally } from "./Tally.ts"

interface Message {
  readonly event: string
  readonly body: Body
}

/**
 * How many notices a member that reads too slowly may have ahead: every member of a full office may have come or gone
 * and changed in every part. Whoever misses more comes back and asks anew.
 */
const mostMissed = 8192

const write = (line: Line, notice: Notice): Message => {
  const { body, event } = line.writeNotice(notice)
  return { event, body: jsonBody(body) }
}

const send = ({ link }: Connection, { body, event }: Message): Effect.Effect<void> =>
  Effect.ignore(link.tell(event, body))

/**
 * Tells members what happened in their office. Delivery is best effort: who is gone misses it. A member that reads too
 * slowly is told later, and no more than it needs to have the same view as the others.
 */
export class Notifications extends Context.Service<
  Notifications,
  {
    /** Tells sessions of this node. */
    readonly tell: (recipients: ReadonlyArray<string>, notice: Notice) => Effect.Effect<void>
    /** The same for members of an office, on whatever node they are: other nodes hear it once for all of theirs. */
    readonly tellMembers: (members: ReadonlyArray<Member>, notice: Notice) => Effect.Effect<void>
    /** Tells a member what was put off, however much still waits for it. */
    readonly catchUp: (connection: Connection) => Effect.Effect<void>
  }
>()("a2c-smcp/application/server/Notifications") {
  static readonly layer = Layer.effect(
    Notifications,
    Effect.gen(function* () {
      const connections = yield* Connections
      const { backlogNotices } = yield* Limits
      const clock = yield* Clock.Clock
      const tally = yield* Tally
      const nodes = yield* Nodes

      const putOff = (connection: Connection, notice: Notice) => {
        const missed = (connection.missed ??= nothingMissed())
        const before = missed.size
        addMissed(missed, notice)
        for (let saved = before + 1 - missed.size; saved > 0; saved--) tally.dropped("notification")
        if (missed.size <= mostMissed) return
        connections.dismiss(
          connection,
          "backlogNotices",
          `too slow: it has missed ${mostMissed} notifications`
        )
      }

      const catchUp = (connection: Connection) =>
        Effect.suspend(() => {
          const { line, missed } = connection
          if (missed === undefined) return Effect.void
          connection.missed = undefined
          return Effect.forEach(missedNotices(missed), (notice) => send(connection, write(line, notice)), {
            discard: true
          })
        })

      const tell = (recipients: ReadonlyArray<string>, notice: Notice) =>
        Effect.suspend(() => {
          const now = clock.currentTimeMillisUnsafe()
          const written = new Map<Line, Message>()
          const writeOnce = (line: Line) => {
            const message = write(line, notice)
            written.set(line, message)
            return message
          }
          return Effect.forEach(
            recipients,
            (sid) => {
              const connection = connections.get(sid)
              if (connection === undefined || connection.dismissed) return Effect.void
              connection.lastAt = now
              const backlog = connections.backlog(connection)
              if (backlog <= backlogNotices && connection.missed === undefined) {
                return send(connection, written.get(connection.line) ?? writeOnce(connection.line))
              }
              if (connection.dismissed) return Effect.void
              putOff(connection, notice)
              return backlog <= backlogNotices ? catchUp(connection) : Effect.void
            },
            { discard: true }
          )
        })

      const tellNode = (node: string, members: ReadonlyArray<Member>, notice: Notice) => {
        const lines = Map.groupBy(members, (member) => nodes.connection(member).line)
        for (const [line, those] of lines) {
          const { body, event } = write(line, notice)
          nodes.tell(
            node,
            those.map(({ sid }) => sid),
            event,
            body
          )
        }
      }

      const tellMembers = (members: ReadonlyArray<Member>, notice: Notice) =>
        Effect.suspend(() => {
          const here: Array<string> = []
          const elsewhere: Array<Member> = []
          for (const member of members) {
            if (member.node === nodes.node) here.push(member.sid)
            else elsewhere.push(member)
          }
          if (elsewhere.length > 0) {
            for (const [node, those] of Map.groupBy(elsewhere, (member) => member.node)) {
              tellNode(node, those, notice)
            }
          }
          return tell(here, notice)
        })

      return Notifications.of({ catchUp, tell, tellMembers })
    })
  )
}
