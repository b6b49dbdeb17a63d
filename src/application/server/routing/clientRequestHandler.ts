import { Clock, Effect, Result } from "effect"
import type { Member, MembershipError } from "../../../domain/model/Membership.ts"
import type { Notification } from "../../../domain/model/Notification.ts"
import { officeIdOf } from "../../../domain/model/ids.ts"
import {
  badRequest,
  errorCodes,
  forbidden,
  internalError,
  otherOffice,
  type ProtocolError,
  unauthorized,
  unknownEvent
} from "../../../domain/model/ProtocolError.ts"
import { checkJoinRights } from "../../../domain/office/grants.ts"
import { isOperatorLike } from "../../../domain/approvals/Caller.ts"
import { operatorNamesKept } from "../../../domain/office/memberFeatures.ts"
import { mcpFeature } from "../../../domain/model/messages/mcp.ts"
import { computeOnce } from "../../../domain/objects.ts"
import type { EventDefinition, ProtocolLine, ServerRequests } from "../../../domain/wire/ProtocolLine.ts"
import { Authenticator, checkCredentials } from "../../ports/Authenticator.ts"
import { decodeBody, decodeHead, jsonBody } from "../../ports/Body.ts"
import { OfficeRegistry } from "../../ports/OfficeRegistry.ts"
import { ServedLines, type Reply } from "../../ports/Transport.ts"
import { chargeFanOut } from "../connections/Connections.ts"
import type { MembershipCoordinator } from "../membership/MembershipCoordinator.ts"
import type { Notifications } from "../membership/Notifications.ts"
import {
  type ClientRequest,
  emptyReply,
  errorReply,
  jsonReply,
  makeLengthChecks,
  observeRejection,
  type RequestHandler,
  requireMembership,
  requireSender
} from "./ClientRequest.ts"
import { encodeWaitAck, type ForwardCallStatus, maxCallStatusBytes } from "./callStatus.ts"
import type { Route } from "./Routing.ts"
import { MembershipObservers, UpdateObservers } from "../observability/observers.ts"

const operatorNameDenial = "name must not begin with 'operator:': this Server calls its operators so"

type RelayDefinition = Extract<EventDefinition, { readonly kind: "update" | "cancel" }>
/** The reply to a join or leave, encoded once. */
const changedReply = computeOnce((line: ProtocolLine) => jsonReply(...line.encodeMembershipAck(Result.void)))

type MembershipChange = Effect.Effect<void, MembershipError | ProtocolError>

interface HandlerParts {
  readonly coordinator: MembershipCoordinator
  readonly forwardCallStatus: ForwardCallStatus
  readonly notifications: Notifications
  readonly route: Route
}

/** Makes the functions that let a client join, leave and list offices. */
const makeMembershipRequests = Effect.fnUntraced(function* (coordinator: MembershipCoordinator) {
  const authenticator = yield* Authenticator
  const clock = yield* Clock.Clock
  const registry = yield* OfficeRegistry
  const { checkMembership, checkRequestId } = yield* makeLengthChecks
  const servedLines = yield* ServedLines

  /** Warns when members of another line use the same office id: these members do not meet. */
  const warnOfOtherLines = (line: ProtocolLine, office: string) => {
    const others = servedLines.filter((other) => other !== line)
    return Effect.flatMap(registry.areInUse(others.map(({ officeKey }) => officeKey(office))), (inUse) => {
      if (!inUse.includes(true)) return Effect.void
      const otherLines = others.filter((_, index) => inUse[index] === true).map(({ name }) => name)
      return Effect.logWarning("office id in use on another protocol line", { office, line: line.name, otherLines })
    })
  }

  const join = ({ body, connection }: ClientRequest, definition: ServerRequests["join"]): MembershipChange => {
    const request = Result.flatMap(decodeHead(body, definition.request.decode), checkMembership)
    if (Result.isFailure(request)) return Effect.fail(request.failure)
    const { name, officeId, role, takeOver = false } = request.success
    const { identity, isOperator, line, link } = connection
    const at = clock.currentTimeMillisUnsafe()
    const invalid = checkCredentials(authenticator, identity, at)
    if (invalid !== undefined) return Effect.fail(unauthorized(invalid.message))
    const denial =
      checkJoinRights(identity, { office: officeId, role, name }) ??
      (!isOperator && isOperatorLike(name) ? operatorNameDenial : undefined)
    if (denial !== undefined) return Effect.fail(forbidden(denial))
    // From here on a rejection may name the current member: this client may join the office.
    const office = line.officeKey(officeId)
    const joining = coordinator.apply({ _tag: "Join", sid: link.id, role, name, office, at, takeOver })
    return Effect.andThen(joining, () => warnOfOtherLines(line, officeId))
  }

  const leave = ({ body, connection: { line, link } }: ClientRequest, definition: ServerRequests["leave"]) =>
    Effect.flatMap(Effect.fromResult(decodeHead(body, definition.request.decode)), ({ officeId }) =>
      coordinator.apply({ _tag: "Leave", sid: link.id, office: line.officeKey(officeId) })
    )

  /** Lists the members of the client's office. */
  const list = Effect.fnUntraced(function* ({ body, connection }: ClientRequest, definition: ServerRequests["list"]) {
    const request = Result.flatMap(decodeHead(body, definition.request.decode), checkRequestId)
    const { officeId, reqId } = yield* Effect.fromResult(request)
    const { office } = yield* Effect.fromResult(requireMembership(connection, definition.from))
    if (office !== connection.line.officeKey(officeId)) {
      const details = { sid: connection.link.id, office: officeId }
      yield* Effect.logWarning("list request for another office rejected", details)
      return yield* otherOffice(`You are not in office '${officeId}'`)
    }
    const members = registry.members(office)
    chargeFanOut(connection, members.length)
    const toSession = ({ membership: { name, role }, sid, version }: Member) => ({ sid, name, role, officeId, version })
    const known = connection.features.callStatus ? { features: [mcpFeature] } : {}
    return jsonReply(definition.reply.encode({ sessions: members.map(toSession), ...known, reqId }))
  })

  return { join, leave, list }
})

/** Makes the functions that pass messages of a client on to other members. A message that must not pass is dropped. */
const makeRelays = Effect.fnUntraced(function* ({ forwardCallStatus, notifications }: HandlerParts) {
  const registry = yield* OfficeRegistry
  const membershipObservers = yield* MembershipObservers
  const updateObservers = yield* UpdateObservers
  const { checkRequestId } = yield* makeLengthChecks

  const dropMessage = (request: ClientRequest, error: ProtocolError) => {
    const { connection, event } = request
    observeRejection(membershipObservers, request, error)
    const fields = { sid: connection.link.id, event, reason: error.message }
    return Effect.as(Effect.logWarning("message dropped", fields), emptyReply)
  }

  const decodeNotification = (
    { body }: ClientRequest,
    definition: RelayDefinition
  ): Result.Result<Extract<Notification, { readonly _tag: "Updated" | "Cancelled" }>, ProtocolError> => {
    if (definition.kind === "update") {
      const { part, request } = definition
      return Result.map(decodeHead(body, request.decode), ({ computer }) => ({ _tag: "Updated", part, computer }))
    }
    const request = Result.flatMap(decodeHead(body, definition.request.decode), checkRequestId)
    return Result.map(request, ({ agent, reqId }) => ({ _tag: "Cancelled", agent, reqId }))
  }

  /** Sends a notification to the other members of the office. It must be about its sender. */
  const relay = (request: ClientRequest, definition: RelayDefinition): Effect.Effect<Reply> => {
    const { connection } = request
    const decoded = decodeNotification(request, definition)
    if (Result.isFailure(decoded)) return dropMessage(request, decoded.failure)
    const notification = decoded.success
    const sender = notification._tag === "Updated" ? notification.computer : notification.agent
    const membership = requireSender(connection, definition.from, sender)
    if (Result.isFailure(membership)) return dropMessage(request, membership.failure)
    const { office } = membership.success
    const recipients = registry.members(office).filter(({ sid }) => sid !== connection.link.id)
    chargeFanOut(connection, recipients.length)
    if (notification._tag === "Updated") {
      const { computer, part } = notification
      for (const observe of updateObservers)
        observe({ line: connection.line.name, office: officeIdOf(office), computer, part })
    }
    notifications.notifyMembers(recipients, notification)
    return Effect.succeed(emptyReply)
  }

  /** Forwards the status of a call of its sender. A status of a call that has ended is ignored. */
  const reportCall = Effect.fnUntraced(function* (
    request: ClientRequest,
    definition: Extract<EventDefinition, { readonly kind: "callStatus" }>
  ) {
    const { body, connection } = request
    // Decoded as a whole: malformed text must not reach the Agent.
    const decoded =
      body.byteLength() > maxCallStatusBytes
        ? Result.fail(badRequest(`The status of a call must not be larger than ${maxCallStatusBytes} bytes`))
        : Result.flatMap(decodeBody(body, definition.request.decode), checkRequestId)
    const sender = Result.flatMap(decoded, ({ computer }) => requireSender(connection, definition.from, computer))
    if (Result.isFailure(sender)) return yield* dropMessage(request, sender.failure)
    const waitSeconds = yield* forwardCallStatus(connection, sender.success.office, body)
    const isWait = Result.isSuccess(decoded) && decoded.success.waitSeconds !== undefined
    return isWait ? [encodeWaitAck(connection, waitSeconds)] : emptyReply
  })

  return { relay, reportCall }
})

/** Handles every request of a client: one function for each kind of event. */
export const makeClientRequestHandler = Effect.fnUntraced(function* (parts: HandlerParts) {
  const membershipObservers = yield* MembershipObservers
  const { join, leave, list } = yield* makeMembershipRequests(parts.coordinator)
  const { relay, reportCall } = yield* makeRelays(parts)

  const acknowledge = (request: ClientRequest, change: () => MembershipChange): Effect.Effect<Reply> => {
    const { features, line, link } = request.connection
    const isJoin = request.definition?.kind === "join"
    const announced = isJoin && features.operatorNames ? [jsonBody(operatorNamesKept)] : []
    return Effect.matchEffect(Effect.suspend(change), {
      onSuccess: () => Effect.succeed([...changedReply(line), ...announced]),
      onFailure: (error) => {
        observeRejection(membershipObservers, request, error)
        const reply = jsonReply(...line.encodeMembershipAck(Result.fail(error)))
        const { message: reason } = error
        return Effect.as(isJoin ? Effect.logWarning("join rejected", { sid: link.id, reason }) : Effect.void, reply)
      }
    })
  }

  const replyError = ({ connection: { line, link }, event }: ClientRequest, error: ProtocolError) => {
    const { code, message: reason } = error
    const log = code === errorCodes.forbidden ? Effect.logWarning : Effect.logDebug
    return Effect.as(
      log("request rejected", { sid: link.id, event, code, reason }),
      jsonReply(line.encodeProtocolError(error))
    )
  }

  const reject = (request: ClientRequest, error: ProtocolError) => {
    observeRejection(membershipObservers, request, error)
    return replyError(request, error)
  }

  const dispatch = (request: ClientRequest, definition: EventDefinition): Effect.Effect<Reply> => {
    switch (definition.kind) {
      case "call":
        return Effect.matchEffect(parts.route(request, definition), {
          onSuccess: (reply) => Effect.succeed([reply]),
          onFailure: (error) => replyError(request, error)
        })
      case "join":
        return acknowledge(request, () => join(request, definition))
      case "leave":
        return acknowledge(request, () => leave(request, definition))
      case "list":
        return Effect.catch(list(request, definition), (error) => reject(request, error))
      case "update":
      case "cancel":
        return Effect.suspend(() => relay(request, definition))
      case "callStatus":
        return reportCall(request, definition)
    }
  }

  const handle: RequestHandler = (request) => {
    const { connection, definition, event } = request
    if (definition === undefined) return reject(request, unknownEvent(event))
    return Effect.catchDefect(dispatch(request, definition), (defect) =>
      Effect.as(
        Effect.logError("request failed", { sid: connection.link.id, event }, defect),
        errorReply(request, internalError("Internal error"))
      )
    )
  }
  return handle
})
