import { Context, Duration, Effect, Layer, Option, Result } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import type { Seat, Session } from "../../domain/office/membership.ts"
import type { RoutedRow } from "../../domain/protocol/v0_2/events.ts"
import {
  computerNotFound,
  forbidden,
  internal,
  notInOffice,
  otherOffice,
  type Refusal,
  timedOut
} from "../../domain/refusal.ts"
import { type Body, decodeHead } from "../ports/Body.ts"
import type { Answer, LinkClosed, NoAnswer, NotSent } from "../ports/Transport.ts"
import { Cancellation } from "./Cancellation.ts"
import { Connections } from "./Connections.ts"
import { Membership } from "./Membership.ts"
import { Notifications } from "./Notifications.ts"
import { ServerSettings } from "./ServerSettings.ts"

/** What a sender may do, found out once per message. */
export const seatOf = (
  session: Option.Option<Session>,
  role: "agent" | "computer"
): Result.Result<Seat, Refusal> => {
  const known = Option.getOrUndefined(session)
  if (known === undefined) return Result.fail(notInOffice())
  if (Option.isSome(known.role) && known.role.value !== role) {
    return Result.fail(forbidden(`Only an ${role} may send this`))
  }
  return Result.fromOption(known.seat, notInOffice)
}

const failure =
  (computer: string) =>
  (error: LinkClosed | NoAnswer | NotSent | Refusal): Refusal => {
    switch (error._tag) {
      case "LinkClosed":
        return computerNotFound(computer)
      case "NoAnswer":
        return timedOut(Duration.toSeconds(error.after))
      case "NotSent":
        return error.refusal
      case "Refusal":
        return error
    }
  }

/** The one body of an answer, or a refusal where the Computer gave anything but an object (spec §4.1). */
const checked = (answer: Answer): Result.Result<Body, Refusal> => {
  const [body] = answer
  if (body === undefined) return Result.fail(internal("The Computer's answer is empty"))
  if (Result.isFailure(body.head)) {
    return Result.fail(internal(`The Computer's answer is unusable: ${body.head.failure.message}`))
  }
  return isJsonObject(body.head.success)
    ? Result.succeed(body)
    : Result.fail(internal("The Computer's answer is no object"))
}

/** Carries requests of Agents to Computers of the same office and the answers back, both unread. */
export class Routing extends Context.Service<
  Routing,
  {
    /** Routes one request. It ends with the Computer's own answer or with the reason why there is none. */
    readonly route: (sid: string, row: RoutedRow, event: string, body: Body) => Effect.Effect<Body, Refusal>
  }
>()("a2c-smcp/application/server/Routing") {
  static readonly layer = Layer.effect(
    Routing,
    Effect.gen(function* () {
      const membership = yield* Membership
      const connections = yield* Connections
      const cancellation = yield* Cancellation
      const notifications = yield* Notifications
      const { grace, routingTimeout } = yield* ServerSettings

      const locate = (office: string, computer: string) => {
        const member = Option.getOrUndefined(membership.computerIn(office, computer))
        const connection = member === undefined ? undefined : connections.get(member.sid)
        if (connection !== undefined) return Effect.succeed(connection)
        return Effect.flatMap(membership.computerAnywhere(computer), (elsewhere) =>
          elsewhere
            ? Effect.andThen(
                Effect.logWarning("request across offices refused", { office, computer }),
                Effect.fail(otherOffice(`Computer '${computer}'`))
              )
            : Effect.fail(computerNotFound(computer))
        )
      }

      const route = Effect.fnUntraced(function* (sid: string, row: RoutedRow, event: string, body: Body) {
        const routing = decodeHead(body, row.routing)
        if (Result.isFailure(routing)) return yield* routing.failure
        const { computer, reqId, seconds } = routing.success
        const seat = seatOf(membership.session(sid), row.from)
        if (Result.isFailure(seat)) return yield* seat.failure
        const { name, office } = seat.success
        const { link } = yield* locate(office, computer)
        const deadline =
          seconds === undefined ? routingTimeout : Duration.sum(Duration.seconds(seconds), grace)
        const giveUp = row.cancellable
          ? notifications.tell([link.id], { _tag: "Cancelled", agent: name, reqId })
          : Effect.void
        const answer = yield* Effect.mapError(
          cancellation.guard({ agent: sid, computer: link.id }, link.ask(event, body, deadline), giveUp),
          failure(computer)
        )
        return yield* Effect.fromResult(checked(answer))
      })

      return Routing.of({ route })
    })
  )
}
