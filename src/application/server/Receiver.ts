import { Effect, Result } from "effect"
import { mayJoin } from "../../domain/office/grants.ts"
import type { Line } from "../../domain/protocol/lines.ts"
import type { offices, ReportRow, ServerRow } from "../../domain/protocol/v0_2/events.ts"
import { codes, forbidden, internal, otherOffice, type Refusal, unknownEvent } from "../../domain/refusal.ts"
import { type Body, decodeHead } from "../ports/Body.ts"
import type { Answer, Receive } from "../ports/Transport.ts"
import { refusalAnswer, silence, values } from "./answers.ts"
import { chargeFor, Connections } from "./Connections.ts"
import { EntryObservers } from "./EntryObservers.ts"
import { makeLengths } from "./lengths.ts"
import { Membership } from "./Membership.ts"
import { Notifications } from "./Notifications.ts"
import { Routing, seatOf } from "./Routing.ts"

/** Every message of a member gets its answer here: one for each row of the event table. */
export const makeReceiver = Effect.gen(function* () {
  const connections = yield* Connections
  const membership = yield* Membership
  const notifications = yield* Notifications
  const routing = yield* Routing
  const lengths = yield* makeLengths
  const observers = yield* EntryObservers

  /** One message to a full office is work for a thousand. */
  const concerning = <M>(sid: string, members: ReadonlyArray<M>): ReadonlyArray<M> => {
    const connection = connections.get(sid)
    if (connection !== undefined) chargeFor(connection, members.length)
    return members
  }

  const dropped = (sid: string, event: string, reason: string) =>
    Effect.as(Effect.logWarning("message dropped", { sid, event, reason }), silence)

  const join = Effect.fnUntraced(function* (sid: string, line: Line, row: typeof offices.join, body: Body) {
    const request = Result.flatMap(decodeHead(body, row.request.decode), lengths.place)
    const outcome = yield* Effect.fromResult(request).pipe(
      Effect.tap(({ name, officeId: office, role }) => {
        const identity = connections.get(sid)?.identity
        const obstacle = identity === undefined ? "Not connected" : mayJoin(identity, { office, role, name })
        return obstacle === undefined ? Effect.void : Effect.fail(forbidden(obstacle))
      }),
      Effect.flatMap(({ name, officeId: office, role }) =>
        Effect.andThen(
          membership.apply({ _tag: "Join", sid, role, name, office }),
          Effect.logInfo("joined", { sid, office, role, name })
        )
      ),
      Effect.tapError(({ message: reason }) => {
        const subject = connections.get(sid)?.identity?.subject
        for (const observe of observers) observe({ _tag: "JoinRefused", sid, subject, reason })
        return Effect.logWarning("join refused", { sid, reason })
      }),
      Effect.result
    )
    return values(...line.writePair(outcome))
  })

  const leave = Effect.fnUntraced(function* (sid: string, line: Line, row: typeof offices.leave, body: Body) {
    const outcome = yield* Effect.fromResult(decodeHead(body, row.request.decode)).pipe(
      Effect.flatMap(({ officeId: office }) =>
        Effect.andThen(
          membership.apply({ _tag: "Leave", sid, office }),
          Effect.logInfo("left", { sid, office })
        )
      ),
      Effect.result
    )
    return values(...line.writePair(outcome))
  })

  const list = Effect.fnUntraced(function* (sid: string, row: typeof offices.list, body: Body) {
    const request = Result.flatMap(decodeHead(body, row.request.decode), lengths.request)
    const { officeId, reqId } = yield* Effect.fromResult(request)
    const { office } = yield* Effect.fromResult(seatOf(membership.session(sid), row.from))
    if (office !== officeId) {
      yield* Effect.logWarning("listing another office refused", { sid, office: officeId })
      return yield* otherOffice(`Room '${officeId}'`)
    }
    const sessions = concerning(sid, membership.list(office)).map(({ seat, sid: id, version }) => ({
      sid: id,
      name: seat.name,
      role: seat.role,
      officeId: seat.office,
      version
    }))
    return values(row.reply.encode({ sessions, reqId }))
  })

  const report = Effect.fnUntraced(function* (sid: string, row: ReportRow, event: string, body: Body) {
    const request = decodeHead(body, row.request.decode)
    if (Result.isFailure(request)) return yield* dropped(sid, event, request.failure.message)
    const seat = seatOf(membership.session(sid), row.from)
    if (Result.isFailure(seat)) return yield* dropped(sid, event, seat.failure.message)
    const { name, office } = seat.success
    if (request.success.computer !== name) return yield* dropped(sid, event, "not about the sender")
    yield* notifications.tellMembers(concerning(sid, membership.others(office, sid)), {
      _tag: "Updated",
      part: row.part,
      computer: name
    })
    return silence
  })

  const cancel = Effect.fnUntraced(function* (
    sid: string,
    row: Extract<ServerRow, { readonly kind: "cancel" }>,
    event: string,
    body: Body
  ) {
    const request = Result.flatMap(decodeHead(body, row.request.decode), lengths.request)
    if (Result.isFailure(request)) return yield* dropped(sid, event, request.failure.message)
    const seat = seatOf(membership.session(sid), row.from)
    if (Result.isFailure(seat)) return yield* dropped(sid, event, seat.failure.message)
    const { name, office } = seat.success
    if (request.success.agent !== name) return yield* dropped(sid, event, "not about the sender")
    yield* notifications.tellMembers(concerning(sid, membership.others(office, sid)), {
      _tag: "Cancelled",
      agent: name,
      reqId: request.success.reqId
    })
    return silence
  })

  const refused = (sid: string, line: Line, event: string) => (refusal: Refusal) =>
    Effect.as(
      refusal.code === codes.forbidden
        ? Effect.logWarning("request refused", { sid, event, reason: refusal.message })
        : Effect.logDebug("request refused", { sid, event, code: refusal.code, reason: refusal.message }),
      values(line.writeRefusal(refusal))
    )

  const answer = (
    sid: string,
    line: Line,
    row: ServerRow,
    event: string,
    body: Body
  ): Effect.Effect<Answer> => {
    switch (row.kind) {
      case "call":
        return Effect.matchEffect(routing.route(sid, row, event, body), {
          onSuccess: (reply) => Effect.succeed([reply]),
          onFailure: refused(sid, line, event)
        })
      case "join":
        return join(sid, line, row, body)
      case "leave":
        return leave(sid, line, row, body)
      case "list":
        return Effect.catch(list(sid, row, body), refused(sid, line, event))
      case "report":
        return report(sid, row, event, body)
      case "cancel":
        return cancel(sid, row, event, body)
    }
  }

  /** What a session's messages are answered with; it never fails. */
  const receiver =
    (sid: string, line: Line): Receive =>
    (event, body) => {
      const row = line.serverRow(event)
      if (row === undefined) return refused(sid, line, event)(unknownEvent(event))
      return Effect.catchDefect(answer(sid, line, row, event, body), (defect) =>
        Effect.as(
          Effect.logError("request failed", { sid, event }, defect),
          refusalAnswer(line, row, internal("Internal error"))
        )
      )
    }

  return receiver
})
