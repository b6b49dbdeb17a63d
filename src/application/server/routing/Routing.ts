import { Cause, Clock, Duration, Effect, Exit, Option, Result } from "effect"
import { type Member, type Membership, publicMembership } from "../../../domain/model/Membership.ts"
import { officeIdOf, type OfficeKey, type ComputerName } from "../../../domain/model/ids.ts"
import type { RoutedDefinition, RoutingInfo } from "../../../domain/wire/defineCall.ts"
import {
  computerNotFound,
  internalError,
  notInOffice,
  otherOffice,
  type ProtocolError
} from "../../../domain/model/ProtocolError.ts"
import { type Body, decodeHead } from "../../ports/Body.ts"
import { OfficeRegistry } from "../../ports/OfficeRegistry.ts"
import { type ReplyExit, toLinkError } from "../../ports/Transport.ts"
import type { ClusterNodes } from "./ClusterNodes.ts"
import type { Connection, Connections } from "../connections/Connections.ts"
import type { Notifications } from "../membership/Notifications.ts"
import { CallObservers, type CompletedCall, MembershipObservers, type StartedCall } from "../observability/observers.ts"
import { type ClientRequest, makeLengthChecks, observeRejection, requireSender } from "./ClientRequest.ts"
import { requestMemory, type InFlightCalls } from "../connections/InFlightCalls.ts"
import type { ServerMetrics } from "../observability/ServerMetrics.ts"
import { InFlightCall, type OnCallEnd } from "../connections/InFlightCall.ts"
import { ServerSettings } from "../Limits.ts"

/** Routes a request to the named Computer and gives the Computer's reply. */
export type Route = (request: ClientRequest, definition: RoutedDefinition) => Effect.Effect<Body, ProtocolError>

interface RoutingParts {
  readonly connections: Connections
  readonly inFlightCalls: InFlightCalls
  readonly nodes: ClusterNodes
  readonly notifications: Notifications
}

const epochMillis = (clock: Clock.Clock): number => Number(clock.currentTimeNanosUnsafe()) / 1e6

/** A call whose sender is known. */
interface RoutedCall extends Pick<StartedCall, "serial" | "startedAt"> {
  readonly request: ClientRequest
  readonly definition: RoutedDefinition
  readonly routing: RoutingInfo
  readonly agent: Membership
  readonly resume: (outcome: Effect.Effect<Body, ProtocolError>) => void
}

const describeCall = (
  { agent, definition, request, routing: { computer, reqId }, serial, startedAt }: RoutedCall,
  reported?: InFlightCall["reported"]
): StartedCall => {
  const { body, connection } = request
  const { identity, line, link } = connection
  return {
    serial,
    event: definition.event,
    sid: link.id,
    agent: publicMembership(agent),
    line: line.name,
    subject: identity.subject,
    computer,
    reqId,
    request: body,
    startedAt,
    ...reported
  }
}

/** A reply that a Computer may give: an object (spec §4.1). */
const isUsable = (exit: ReplyExit): boolean => Exit.isSuccess(exit) && exit.value[0]?.isObject === true

/** The body of a usable reply, or the error of the call: code 500 for a defect, 4103 for a caller that has left. */
const outcomeOf = (computer: ComputerName, exit: ReplyExit | undefined): Body | ProtocolError => {
  if (exit === undefined) return notInOffice()
  if (Exit.isFailure(exit))
    return Option.match(Cause.findErrorOption(exit.cause), {
      onNone: () => internalError("Internal error"),
      onSome: toLinkError(computerNotFound(computer))
    })
  const [body] = exit.value
  if (body === undefined) return internalError("The Computer's answer is empty")
  if (body.isObject) return body
  return Result.isFailure(body.head)
    ? internalError(`The Computer's answer is unusable: ${body.head.failure.message}`)
    : internalError("The Computer's answer is no object")
}

/** Makes the function that ends a call of a Computer that is not in the office of its Agent. */
const makeRejectAbsent = Effect.fnUntraced(function* (inFlightCalls: InFlightCalls) {
  const registry = yield* OfficeRegistry
  const findElsewhere = Effect.fnUntraced(function* (office: OfficeKey, computer: ComputerName) {
    const isElsewhere = yield* registry.isComputerElsewhere(office, computer)
    if (!isElsewhere) return yield* computerNotFound(computer)
    yield* Effect.logWarning("cross-office request rejected", { office: officeIdOf(office), computer })
    return yield* otherOffice(`Computer '${computer}' is not in your office`)
  })
  // A shared registry must be queried, which takes time.
  return ({ agent, request: { connection }, routing }: RoutedCall, bytes: number) =>
    Effect.acquireUseRelease(
      Effect.sync(() => inFlightCalls.countLookup(connection, 1, bytes)),
      () => findElsewhere(agent.office, routing.computer),
      () => Effect.sync(() => inFlightCalls.countLookup(connection, -1, bytes))
    )
})

/** Makes the function that starts a call, sends it to its Computer, and gives the function that abandons it. */
const makeCallStart = Effect.fnUntraced(function* ({ connections, inFlightCalls, nodes, notifications }: RoutingParts) {
  const clock = yield* Clock.Clock
  const observers = yield* CallObservers
  const registry = yield* OfficeRegistry
  const { routingTimeout, timeoutGrace } = yield* ServerSettings
  const rejectAbsent = yield* makeRejectAbsent(inFlightCalls)

  const report = (call: RoutedCall, outcome: Body | ProtocolError, reported?: InFlightCall["reported"]) => {
    if (observers.length === 0) return
    const endedAt = epochMillis(clock)
    const completed: CompletedCall = { ...describeCall(call, reported), outcome, endedAt }
    for (const observe of observers) observe(completed)
  }

  /** The connection of a Computer of this node, or the session id of one of another node. */
  const targetOf = ({ node, sid }: Member): Connection | string | undefined => {
    if (node !== registry.node) return sid
    const connection = connections.get(sid)
    if (connection !== undefined) connection.lastActivityAt = clock.currentTimeMillisUnsafe()
    return connection
  }

  const send = (call: RoutedCall, member: Member, target: Connection | string, bytes: number) => {
    const { agent, definition, request, resume, routing, serial, startedAt } = call
    const { body, connection, event } = request
    const { computer, reqId, timeoutSeconds } = routing
    const onEnd: OnCallEnd = (exit, isReplied, { reported }) => {
      inFlightCalls.remove(connection, target, inFlight, bytes)
      if (exit !== undefined) connection.lastActivityAt = clock.currentTimeMillisUnsafe()
      if (exit !== undefined && Exit.isSuccess(exit) && typeof target !== "string")
        target.lastActivityAt = connection.lastActivityAt
      const outcome = outcomeOf(computer, exit)
      report(call, outcome, reported)
      if (!isReplied && definition.cancellable)
        notifications.notifyMembers([member], { _tag: "Cancelled", agent: agent.name, reqId })
      if (exit !== undefined) resume("_tag" in outcome ? Effect.fail(outcome) : Effect.succeed(outcome))
    }
    const describe = () => describeCall(call, inFlight.reported)
    const inFlight = new InFlightCall(agent.office, onEnd, { computer, reqId, serial, startedAt, describe })
    const timeout =
      timeoutSeconds === undefined
        ? routingTimeout
        : Duration.millis(timeoutSeconds * 1000 + Duration.toMillis(timeoutGrace))
    const onReply = (exit: ReplyExit) => inFlight.end(exit, isUsable(exit))
    inFlightCalls.add(connection, target, inFlight, bytes)
    inFlight.started(
      typeof target === "string"
        ? nodes.startRequest(member, event, body, timeout, onReply, inFlight.takeExtension)
        : target.link.startRequest(event, body, timeout, onReply, inFlight.takeExtension)
    )
    return Effect.sync(() => inFlight.cancel())
  }

  return (call: RoutedCall) => {
    const { agent, request, resume, routing } = call
    const member = Option.getOrUndefined(registry.findComputer(agent.office, routing.computer))
    const target = member === undefined ? undefined : targetOf(member)
    const bytes = requestMemory(request.body)
    const limitError = inFlightCalls.checkLimits(request.connection, target, bytes)
    if (limitError !== undefined) {
      report(call, limitError)
      return resume(Effect.fail(limitError))
    }
    if (member !== undefined && target !== undefined) return send(call, member, target, bytes)
    return resume(Effect.tapError(rejectAbsent(call, bytes), (error) => Effect.sync(() => report(call, error))))
  }
})

/** Makes the function that routes requests between members of one office. Bodies pass through undecoded. */
export const makeRouting = Effect.fnUntraced(function* (
  parts: RoutingParts
): Effect.fn.Return<Route, never, OfficeRegistry | ServerMetrics> {
  const clock = yield* Clock.Clock
  const hasObservers = (yield* CallObservers).length > 0
  const membershipObservers = yield* MembershipObservers
  const { checkRequestId } = yield* makeLengthChecks
  const startCall = yield* makeCallStart(parts)
  let serial = 0

  // Callbacks instead of a generator, a fiber and a timer: this runs once per call.
  return (request, definition) =>
    Effect.callback((resume) => {
      const reject = (error: ProtocolError) => {
        observeRejection(membershipObservers, request, error)
        resume(Effect.fail(error))
      }
      const routing = Result.flatMap(decodeHead(request.body, definition.decodeRouting), checkRequestId)
      if (Result.isFailure(routing)) return reject(routing.failure)
      const agent = requireSender(request.connection, definition.from, routing.success.agent)
      if (Result.isFailure(agent)) return reject(agent.failure)
      return startCall({
        serial: ++serial,
        startedAt: hasObservers ? epochMillis(clock) : 0,
        request,
        definition,
        routing: routing.success,
        agent: agent.success,
        resume
      })
    })
})
