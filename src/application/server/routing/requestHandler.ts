import { Effect, Result } from "effect"
import { checkJoinRights } from "../../../domain/office/grants.ts"
import type {
  EventDefinition,
  ProtocolLine,
  ServerRequests,
  UpdateDefinition
} from "../../../domain/wire/lines.ts"
import {
  errorCodes,
  forbidden,
  internalError,
  otherOffice,
  type ProtocolError,
  unknownEvent
} from "../../../domain/model/ProtocolError.ts"
import { type Body, decodeHead } from "../../ports/Body.ts"
import type { Reply, MessageHandler } from "../../ports/Transport.ts"
import { errorReply, emptyReply, jsonReply } from "./replies.ts"
import { chargeFanOut, Connections } from "../connections/Connections.ts"
import { MembershipObservers } from "../observability/MembershipObservers.ts"
import { makeLengthChecks } from "../connections/lengthChecks.ts"
import { MembershipCoordinator } from "../membership/MembershipCoordinator.ts"
import { Notifications } from "../membership/Notifications.ts"
import { Routing, requireMembership } from "./Routing.ts"

/** Every message of a member gets its answer here: one for each row of the event table. */
export const makeRequestHandler = Effect.gen(function* () {
  const connections = yield* Connections
  const coordinator = yield* MembershipCoordinator
  const notifications = yield* Notifications
  const routing = yield* Routing
  const lengths = yield* makeLengthChecks
  const observers = yield* MembershipObservers

  /** One message to a full office is work for a thousand. */
  const chargeRecipients = <M>(sid: string, members: ReadonlyArray<M>): ReadonlyArray<M> => {
    const connection = connections.get(sid)
    if (connection !== undefined) chargeFanOut(connection, members.length)
    return members
  }

  const dropMessage = (sid: string, event: string, reason: string) =>
    Effect.as(Effect.logWarning("message dropped", { sid, event, reason }), emptyReply)

  const join = Effect.fnUntraced(function* (
    sid: string,
    line: ProtocolLine,
    definition: ServerRequests["join"],
    body: Body
  ) {
    const request = Result.flatMap(decodeHead(body, definition.request.decode), lengths.checkMembership)
    const outcome = yield* Effect.fromResult(request).pipe(
      Effect.tap(({ name, officeId: office, role }) => {
        const identity = connections.get(sid)?.identity
        const obstacle =
          identity === undefined ? "Not connected" : checkJoinRights(identity, { office, role, name })
        return obstacle === undefined ? Effect.void : Effect.fail(forbidden(obstacle))
      }),
      Effect.flatMap(({ name, officeId: office, role }) =>
        Effect.andThen(
          coordinator.apply({ _tag: "Join", sid, role, name, office }),
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
    return jsonReply(...line.encodeMembershipAck(outcome))
  })

  const leave = Effect.fnUntraced(function* (
    sid: string,
    line: ProtocolLine,
    definition: ServerRequests["leave"],
    body: Body
  ) {
    const outcome = yield* Effect.fromResult(decodeHead(body, definition.request.decode)).pipe(
      Effect.flatMap(({ officeId: office }) =>
        Effect.andThen(
          coordinator.apply({ _tag: "Leave", sid, office }),
          Effect.logInfo("left", { sid, office })
        )
      ),
      Effect.result
    )
    return jsonReply(...line.encodeMembershipAck(outcome))
  })

  const list = Effect.fnUntraced(function* (sid: string, definition: ServerRequests["list"], body: Body) {
    const request = Result.flatMap(decodeHead(body, definition.request.decode), lengths.checkRequestId)
    const { officeId, reqId } = yield* Effect.fromResult(request)
    const { office } = yield* Effect.fromResult(requireMembership(coordinator.session(sid), definition.from))
    if (office !== officeId) {
      yield* Effect.logWarning("listing another office refused", { sid, office: officeId })
      return yield* otherOffice(`Room '${officeId}'`)
    }
    const sessions = chargeRecipients(sid, coordinator.members(office)).map(
      ({ membership, sid: id, version }) => ({
        sid: id,
        name: membership.name,
        role: membership.role,
        officeId: membership.office,
        version
      })
    )
    return jsonReply(definition.reply.encode({ sessions, reqId }))
  })

  const report = Effect.fnUntraced(function* (
    sid: string,
    definition: UpdateDefinition,
    event: string,
    body: Body
  ) {
    const request = decodeHead(body, definition.request.decode)
    if (Result.isFailure(request)) return yield* dropMessage(sid, event, request.failure.message)
    const membership = requireMembership(coordinator.session(sid), definition.from)
    if (Result.isFailure(membership)) return yield* dropMessage(sid, event, membership.failure.message)
    const { name, office } = membership.success
    if (request.success.computer !== name) return yield* dropMessage(sid, event, "not about the sender")
    yield* notifications.notifyMembers(chargeRecipients(sid, coordinator.otherMembers(office, sid)), {
      _tag: "Updated",
      part: definition.part,
      computer: name
    })
    return emptyReply
  })

  const cancel = Effect.fnUntraced(function* (
    sid: string,
    definition: Extract<EventDefinition, { readonly kind: "cancel" }>,
    event: string,
    body: Body
  ) {
    const request = Result.flatMap(decodeHead(body, definition.request.decode), lengths.checkRequestId)
    if (Result.isFailure(request)) return yield* dropMessage(sid, event, request.failure.message)
    const membership = requireMembership(coordinator.session(sid), definition.from)
    if (Result.isFailure(membership)) return yield* dropMessage(sid, event, membership.failure.message)
    const { name, office } = membership.success
    if (request.success.agent !== name) return yield* dropMessage(sid, event, "not about the sender")
    yield* notifications.notifyMembers(chargeRecipients(sid, coordinator.otherMembers(office, sid)), {
      _tag: "Cancelled",
      agent: name,
      reqId: request.success.reqId
    })
    return emptyReply
  })

  const rejectRequest = (sid: string, line: ProtocolLine, event: string) => (error: ProtocolError) =>
    Effect.as(
      error.code === errorCodes.forbidden
        ? Effect.logWarning("request refused", { sid, event, reason: error.message })
        : Effect.logDebug("request refused", { sid, event, code: error.code, reason: error.message }),
      jsonReply(line.encodeProtocolError(error))
    )

  const dispatch = (
    sid: string,
    line: ProtocolLine,
    definition: EventDefinition,
    event: string,
    body: Body
  ): Effect.Effect<Reply> => {
    switch (definition.kind) {
      case "call":
        return Effect.matchEffect(routing.route(sid, definition, event, body), {
          onSuccess: (reply) => Effect.succeed([reply]),
          onFailure: rejectRequest(sid, line, event)
        })
      case "join":
        return join(sid, line, definition, body)
      case "leave":
        return leave(sid, line, definition, body)
      case "list":
        return Effect.catch(list(sid, definition, body), rejectRequest(sid, line, event))
      case "update":
        return report(sid, definition, event, body)
      case "cancel":
        return cancel(sid, definition, event, body)
    }
  }

  /** What a session's messages are answered with; it never fails. */
  const handlerFor =
    (sid: string, line: ProtocolLine): MessageHandler =>
    (event, body) => {
      const definition = line.findEventDefinition(event)
      if (definition === undefined) return rejectRequest(sid, line, event)(unknownEvent(event))
      return Effect.catchDefect(dispatch(sid, line, definition, event, body), (defect) =>
        Effect.as(
          Effect.logError("request failed", { sid, event }, defect),
          errorReply(line, definition, internalError("Internal error"))
        )
      )
    }

  return handlerFor
})
