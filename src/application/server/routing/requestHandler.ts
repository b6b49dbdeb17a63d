import { Effect, Result } from "effect"
import type { Notification } from "../../../domain/model/Notification.ts"
import {
  errorCodes,
  forbidden,
  internalError,
  otherOffice,
  type ProtocolError,
  unknownEvent
} from "../../../domain/model/ProtocolError.ts"
import { checkJoinRights } from "../../../domain/office/grants.ts"
import type { EventDefinition, ServerRequests, UpdateDefinition } from "../../../domain/wire/lines.ts"
import { decodeHead } from "../../ports/Body.ts"
import type { Reply } from "../../ports/Transport.ts"
import { chargeFanOut } from "../connections/Connection.ts"
import type { LengthChecks } from "../connections/lengthChecks.ts"
import type { MembershipCoordinator } from "../membership/MembershipCoordinator.ts"
import type { Notifications } from "../membership/Notifications.ts"
import type { ClientRequest, RequestHandler } from "./ClientRequest.ts"
import { emptyReply, errorReply, jsonReply } from "./replies.ts"
import { type Route, requireMembership } from "./Routing.ts"
import type { ServerContext } from "../lifecycle/ServerContext.ts"

interface RequestHandlerParts {
  readonly coordinator: MembershipCoordinator
  readonly notifications: Notifications
  readonly route: Route
  readonly lengths: LengthChecks
}

type CancelDefinition = Extract<EventDefinition, { readonly kind: "cancel" }>

/** Handles every request of a client: one function for each kind of event. */
export const makeRequestHandler = (
  { membershipObservers, registry }: ServerContext,
  { coordinator, lengths, notifications, route }: RequestHandlerParts
): RequestHandler => {
  const dropMessage = ({ connection, event }: ClientRequest, reason: string) =>
    Effect.as(Effect.logWarning("message dropped", { sid: connection.link.id, event, reason }), emptyReply)

  const join = Effect.fnUntraced(function* ({ body, connection }: ClientRequest, definition: ServerRequests["join"]) {
    const { identity, line, link } = connection
    const request = Result.flatMap(decodeHead(body, definition.request.decode), lengths.checkMembership)
    const outcome = yield* Effect.fromResult(request).pipe(
      Effect.flatMap(
        Effect.fnUntraced(function* ({ name, officeId: office, role }) {
          const denial = checkJoinRights(identity, { office, role, name })
          if (denial !== undefined) return yield* forbidden(denial)
          yield* coordinator.apply({ _tag: "Join", sid: link.id, role, name, office })
          yield* Effect.logInfo("joined", { sid: link.id, office, role, name })
        })
      ),
      Effect.tapError(({ message: reason }) => {
        const { subject } = identity
        for (const observe of membershipObservers) observe({ _tag: "JoinRejected", sid: link.id, subject, reason })
        return Effect.logWarning("join rejected", { sid: link.id, reason })
      }),
      Effect.result
    )
    return jsonReply(...line.encodeMembershipAck(outcome))
  })

  const leave = Effect.fnUntraced(function* (
    { body, connection: { line, link } }: ClientRequest,
    definition: ServerRequests["leave"]
  ) {
    const outcome = yield* Effect.fromResult(decodeHead(body, definition.request.decode)).pipe(
      Effect.flatMap(({ officeId: office }) =>
        Effect.andThen(
          coordinator.apply({ _tag: "Leave", sid: link.id, office }),
          Effect.logInfo("left", { sid: link.id, office })
        )
      ),
      Effect.result
    )
    return jsonReply(...line.encodeMembershipAck(outcome))
  })

  const list = Effect.fnUntraced(function* ({ body, connection }: ClientRequest, definition: ServerRequests["list"]) {
    const request = Result.flatMap(decodeHead(body, definition.request.decode), lengths.checkRequestId)
    const { officeId, reqId } = yield* Effect.fromResult(request)
    const { office } = yield* Effect.fromResult(requireMembership(connection, definition.from))
    if (office !== officeId) {
      yield* Effect.logWarning("list request for another office rejected", {
        sid: connection.link.id,
        office: officeId
      })
      return yield* otherOffice(`Room '${officeId}'`)
    }
    const members = registry.members(office)
    chargeFanOut(connection, members.length)
    const sessions = members.map(({ membership, sid, version }) => ({
      sid,
      name: membership.name,
      role: membership.role,
      officeId: membership.office,
      version
    }))
    return jsonReply(definition.reply.encode({ sessions, reqId }))
  })

  /** Sends a notification to the other members of the office. It must be about its sender. */
  const relay = Effect.fnUntraced(function* (
    request: ClientRequest,
    { from }: UpdateDefinition | CancelDefinition,
    decoded: Result.Result<Extract<Notification, { readonly _tag: "Updated" | "Cancelled" }>, ProtocolError>
  ) {
    const { connection } = request
    if (Result.isFailure(decoded)) return yield* dropMessage(request, decoded.failure.message)
    const membership = requireMembership(connection, from)
    if (Result.isFailure(membership)) return yield* dropMessage(request, membership.failure.message)
    const { name, office } = membership.success
    const notification = decoded.success
    const about = notification._tag === "Updated" ? notification.computer : notification.agent
    if (about !== name) return yield* dropMessage(request, "not about the sender")
    const recipients = registry.members(office).filter(({ sid }) => sid !== connection.link.id)
    chargeFanOut(connection, recipients.length)
    yield* notifications.notifyMembers(recipients, notification)
    return emptyReply
  })

  const update = (request: ClientRequest, definition: UpdateDefinition) =>
    relay(
      request,
      definition,
      Result.map(decodeHead(request.body, definition.request.decode), ({ computer }) => ({
        _tag: "Updated",
        part: definition.part,
        computer
      }))
    )

  const cancel = (request: ClientRequest, definition: CancelDefinition) => {
    const decoded = decodeHead(request.body, definition.request.decode)
    return relay(
      request,
      definition,
      Result.map(Result.flatMap(decoded, lengths.checkRequestId), ({ agent, reqId }) => ({
        _tag: "Cancelled",
        agent,
        reqId
      }))
    )
  }

  const reject = ({ connection: { line, link }, event }: ClientRequest, error: ProtocolError) => {
    const { code, message: reason } = error
    const log = code === errorCodes.forbidden ? Effect.logWarning : Effect.logDebug
    return Effect.as(
      log("request rejected", { sid: link.id, event, code, reason }),
      jsonReply(line.encodeProtocolError(error))
    )
  }

  const dispatch = (request: ClientRequest, definition: EventDefinition): Effect.Effect<Reply> => {
    switch (definition.kind) {
      case "call":
        return Effect.matchEffect(route(request, definition), {
          onSuccess: (reply) => Effect.succeed([reply]),
          onFailure: (error) => reject(request, error)
        })
      case "join":
        return join(request, definition)
      case "leave":
        return leave(request, definition)
      case "list":
        return Effect.catch(list(request, definition), (error) => reject(request, error))
      case "update":
        return update(request, definition)
      case "cancel":
        return cancel(request, definition)
    }
  }

  return (request) => {
    const { connection, definition, event } = request
    if (definition === undefined) return reject(request, unknownEvent(event))
    return Effect.catchDefect(dispatch(request, definition), (defect) =>
      Effect.as(
        Effect.logError("request failed", { sid: connection.link.id, event }, defect),
        errorReply(connection.line, definition, internalError("Internal error"))
      )
    )
  }
}
