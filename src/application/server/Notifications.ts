import { Context, Effect, Layer } from "effect"
import type { Notice } from "../../domain/office/notice.ts"
import type { Line } from "../../domain/protocol/lines.ts"
import { type Body, jsonBody } from "../ports/Body.ts"
import { Connections } from "./Connections.ts"

/** Tells members what happened in their office. Delivery is best effort: who is gone misses it. */
export class Notifications extends Context.Service<
  Notifications,
  {
    readonly tell: (recipients: ReadonlyArray<string>, notice: Notice) => Effect.Effect<void>
  }
>()("a2c-smcp/application/server/Notifications") {
  static readonly layer = Layer.effect(
    Notifications,
    Effect.gen(function* () {
      const connections = yield* Connections
      const tell = (recipients: ReadonlyArray<string>, notice: Notice) =>
        Effect.suspend(() => {
          const written = new Map<Line, { readonly event: string; readonly body: Body }>()
          const write = (line: Line) => {
            const { body, event } = line.writeNotice(notice)
            const message = { event, body: jsonBody(body) }
            written.set(line, message)
            return message
          }
          return Effect.forEach(
            recipients,
            (sid) => {
              const connection = connections.get(sid)
              if (connection === undefined) return Effect.void
              const { body, event } = written.get(connection.line) ?? write(connection.line)
              return Effect.ignore(connection.link.tell(event, body))
            },
            { discard: true }
          )
        })
      return Notifications.of({ tell })
    })
  )
}
