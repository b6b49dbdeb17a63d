import { Cause, Clock, Context, Duration, Effect, Exit, Layer, Option, Result } from "effect"
import type { Member, Seat, Session } from "../../domain/office/membership.ts"
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
import type { Answer, Link, LinkClosed, NoAnswer, NotSent } from "../ports/Transport.ts"
import { CallObservers, type EndedCall } from "./CallObservers.ts"
import { makeCallLimits } from "./callLimits.ts"
import { Cancellation, type Flight } from "./Cancellation.ts"
import { Connections } from "./Connections.ts"
import { makeLengths } from "./lengths.ts"
import { Membership } from "./Membership.ts"
import { Nodes } from "./Nodes.ts"
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
    return Result.fail(forbidden(`Only ${role}s may send this`))
  }
  return Result.fromOption(known.seat, notInOffice)
}

const failure = (computer: string, error: LinkClosed | NoAnswer | NotSent): Refusal => {
  switch (error._tag) {
    case "LinkClosed":
      return computerNotFound(computer)
    case "NoAnswer":
      return timedOut(Duration.toSeconds(error.after))
    case "NotSent":
      return error.refusal
  }
}

/** Why an ask failed; one that died instead is our own trouble. */
const failureOf = (computer: string, cause: Cause.Cause<LinkClosed | NoAnswer | NotSent>): Refusal =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => internal("Internal error"),
    onSome: (error) => failure(computer, error)
  })

/** The one body of an answer, or a refusal where the Computer gave anything but an object (spec §4.1). */
const checked = (answer: Answer): Result.Result<Body, Refusal> => {
  const [body] = answer
  if (body === undefined) return Result.fail(internal("The Computer's answer is empty"))
  if (body.isObject) return Result.succeed(body)
  return Result.isFailure(body.head)
    ? Result.fail(internal(`The Computer's answer is unusable: ${body.head.failure.message}`))
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
      const nodes = yield* Nodes
      const { grace, routingTimeout } = yield* ServerSettings
      const observers = yield* CallObservers
      const clock = yield* Clock.Clock
      const now = () => Number(clock.currentTimeNanosUnsafe()) / 1e6
      const lengths = yield* makeLengths
      const callLimit = yield* makeCallLimits

      const absent = (office: string, computer: string): Effect.Effect<never, Refusal> =>
        Effect.flatMap(membership.computerElsewhere(office, computer), (elsewhere) =>
          elsewhere
            ? Effect.andThen(
                Effect.logWarning("request across offices refused", { office, computer }),
                Effect.fail(otherOffice(`Computer '${computer}'`))
              )
            : Effect.fail(computerNotFound(computer))
        )

      /** How a Computer is reached, be it here or at another node. */
      const linkOf = ({ node, seat, sid, version }: Member): Pick<Link, "id" | "request"> | undefined => {
        if (node !== membership.node) return nodes.connection({ node, sid, seat, version }).link
        const connection = connections.get(sid)
        if (connection === undefined) return undefined
        connection.lastAt = clock.currentTimeMillisUnsafe()
        return connection.link
      }

      // No generator, no fiber of its own and no timer: this is what every call costs.
      const route = (sid: string, row: RoutedRow, event: string, body: Body): Effect.Effect<Body, Refusal> =>
        Effect.callback((resume) => {
          const routing = Result.flatMap(decodeHead(body, row.routing), lengths.request)
          if (Result.isFailure(routing)) return resume(Effect.fail(routing.failure))
          const seat = seatOf(membership.session(sid), row.from)
          if (Result.isFailure(seat)) return resume(Effect.fail(seat.failure))
          const { computer, reqId, seconds } = routing.success
          const agent = seat.success
          const startedAt = observers.length === 0 ? 0 : now()
          const own = connections.get(sid)
          const subject = own?.identity.subject
          const observed = (outcome: Body | Refusal) => {
            if (observers.length === 0) return
            const call: EndedCall = {
              event: row.event,
              sid,
              agent,
              subject,
              computer,
              reqId,
              request: body,
              outcome,
              startedAt,
              endedAt: now()
            }
            for (const observe of observers) observe(call)
          }
          const member = Option.getOrUndefined(membership.computerIn(agent.office, computer))
          const link = member === undefined ? undefined : linkOf(member)
          const target = link?.id ?? `absent for ${sid}`
          const crowded = callLimit(sid, target)
          if (crowded !== undefined) {
            observed(crowded)
            return resume(Effect.fail(crowded))
          }
          if (member === undefined || link === undefined) {
            // The other nodes may have to be asked, which takes time.
            const lookup: Flight = { office: agent.office, end: () => {} }
            cancellation.begun(sid, target, lookup)
            return resume(
              absent(agent.office, computer).pipe(
                Effect.tapError((refusal) => Effect.sync(() => observed(refusal))),
                Effect.ensuring(Effect.sync(() => cancellation.landed(sid, target, lookup)))
              )
            )
          }
          let over = false
          let forget = () => {}
          const settle = (outcome: Body | Refusal) => {
            over = true
            cancellation.landed(sid, link.id, flight)
            observed(outcome)
          }
          /** The Computer may have begun, and is told that nobody waits any more. */
          const giveUp = () =>
            row.cancellable
              ? notifications.tellMembers([member], { _tag: "Cancelled", agent: agent.name, reqId })
              : Effect.void
          const flight: Flight = {
            office: agent.office,
            end: (reason) => {
              if (over) return
              forget()
              settle(reason)
              resume(Effect.andThen(giveUp(), Effect.fail(reason)))
            }
          }
          const deadline =
            seconds === undefined
              ? routingTimeout
              : Duration.millis(seconds * 1000 + Duration.toMillis(grace))
          // Registered before it starts: whoever it reaches may leave before the start has returned.
          cancellation.begun(sid, link.id, flight)
          forget = link.request(event, body, deadline, (asked) => {
            if (over) return
            const at = clock.currentTimeMillisUnsafe()
            if (own !== undefined) own.lastAt = at
            const other = Exit.isSuccess(asked) ? connections.get(link.id) : undefined
            if (other !== undefined) other.lastAt = at
            const outcome = Exit.isSuccess(asked)
              ? checked(asked.value)
              : Result.fail(failureOf(computer, asked.cause))
            settle(Result.merge(outcome))
            // Answers are never dropped, so whoever collects them without reading is found out here.
            if (own !== undefined) connections.backlog(own)
            if (Result.isSuccess(outcome)) resume(Effect.succeed(outcome.success))
            else resume(Effect.andThen(giveUp(), Effect.fail(outcome.failure)))
          })
          return Effect.suspend(() => {
            if (over) return Effect.void
            forget()
            settle(notInOffice())
            return giveUp()
          })
        })

      return Routing.of({ route })
    })
  )
}
