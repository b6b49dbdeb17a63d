import { Cause, Clock, Duration, Effect, Exit, Option, Result } from "effect"
import { type Member, publicMembership } from "../../../domain/model/Membership.ts"
import { officeIdOf } from "../../../domain/model/officeKey.ts"
import type { RoutedDefinition } from "../../../domain/wire/defineCall.ts"
import {
  computerNotFound,
  internalError,
  notInOffice,
  otherOffice,
  type ProtocolError
} from "../../../domain/model/ProtocolError.ts"
import { type Body, decodeHead } from "../../ports/Body.ts"
import { OfficeRegistry } from "../../ports/OfficeRegistry.ts"
import {
  type LinkClosed,
  type Reply,
  type RequestTimeout,
  type SendFailed,
  toLinkError
} from "../../ports/Transport.ts"
import type { ClusterNodes } from "./ClusterNodes.ts"
import type { Connection, Connections } from "../connections/Connections.ts"
import type { Notifications } from "../membership/Notifications.ts"
import { CallObservers, type CompletedCall, MembershipObservers, type StartedCall } from "../observability/observers.ts"
import { type ClientRequest, makeLengthChecks, observeRejection, requireSender } from "./ClientRequest.ts"
import { requestMemory } from "../connections/RequestBudget.ts"
import type { ServerMetrics } from "../observability/ServerMetrics.ts"
import { InFlightCall } from "../connections/InFlightCall.ts"
import type { InFlightCalls } from "../connections/InFlightCalls.ts"
import { ServerSettings } from "../ServerSettings.ts"

/** The protocol error of a failed request; a defect maps to code 500. */
const toProtocolError = (
  computer: string,
  cause: Cause.Cause<LinkClosed | RequestTimeout | SendFailed>
): ProtocolError =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => internalError("Internal error"),
    onSome: toLinkError(computerNotFound(computer))
  })

/** The one body of a reply. A Computer must reply with an object (spec §4.1). */
const checkReply = (reply: Reply): Result.Result<Body, ProtocolError> => {
  const [body] = reply
  if (body === undefined) return Result.fail(internalError("The Computer's answer is empty"))
  if (body.isObject) return Result.succeed(body)
  return Result.isFailure(body.head)
    ? Result.fail(internalError(`The Computer's answer is unusable: ${body.head.failure.message}`))
    : Result.fail(internalError("The Computer's answer is no object"))
}

/** Routes a request to the named Computer and gives the Computer's reply. */
export type Route = (request: ClientRequest, definition: RoutedDefinition) => Effect.Effect<Body, ProtocolError>

interface RoutingParts {
  readonly connections: Connections
  readonly inFlightCalls: InFlightCalls
  readonly nodes: ClusterNodes
  readonly notifications: Notifications
}

/** Makes the function that routes requests between members of one office. Bodies pass through undecoded. */
export const makeRouting = Effect.fnUntraced(function* ({
  connections,
  inFlightCalls,
  nodes,
  notifications
}: RoutingParts): Effect.fn.Return<Route, never, OfficeRegistry | ServerMetrics> {
  const observers = yield* CallObservers
  const membershipObservers = yield* MembershipObservers
  const clock = yield* Clock.Clock
  const registry = yield* OfficeRegistry
  const { routingTimeout, timeoutGrace } = yield* ServerSettings
  const { checkRequestId } = yield* makeLengthChecks
  const now = () => Number(clock.currentTimeNanosUnsafe()) / 1e6
  let lastSerial = 0

  const rejectAbsent = Effect.fnUntraced(function* (office: string, computer: string) {
    const isElsewhere = yield* registry.isComputerElsewhere(office, computer)
    if (!isElsewhere) return yield* computerNotFound(computer)
    yield* Effect.logWarning("cross-office request rejected", { office: officeIdOf(office), computer })
    return yield* otherOffice(`Computer '${computer}'`)
  })

  /** The connection of a Computer of this node, or the session id of one of another node. */
  const targetOf = ({ node, sid }: Member): Connection | string | undefined => {
    if (node !== registry.node) return sid
    const connection = connections.get(sid)
    if (connection !== undefined) connection.lastActivityAt = clock.currentTimeMillisUnsafe()
    return connection
  }

  // Callbacks instead of a generator, a fiber and a timer: this runs once per call.
  return (request, definition) =>
    Effect.callback((resume) => {
      const { body, connection: agentConnection, event } = request
      const reject = (error: ProtocolError) => {
        observeRejection(membershipObservers, request, error)
        resume(Effect.fail(error))
      }
      const routing = Result.flatMap(decodeHead(body, definition.decodeRouting), checkRequestId)
      if (Result.isFailure(routing)) return reject(routing.failure)
      const { agent: sender, computer, reqId, timeoutSeconds } = routing.success
      const membership = requireSender(agentConnection, definition.from, sender)
      if (Result.isFailure(membership)) return reject(membership.failure)
      const agent = membership.success
      const startedAt = observers.length === 0 ? 0 : now()
      const serial = ++lastSerial
      let call: InFlightCall | undefined
      const describe = (): StartedCall => ({
        serial,
        event: definition.event,
        sid: agentConnection.link.id,
        agent: publicMembership(agent),
        line: agentConnection.line.name,
        subject: agentConnection.identity.subject,
        computer,
        reqId,
        request: body,
        startedAt,
        ...call?.reported
      })
      const notifyObservers = (outcome: Body | ProtocolError) => {
        if (observers.length === 0) return
        const completed: CompletedCall = { ...describe(), outcome, endedAt: now() }
        for (const observe of observers) observe(completed)
      }
      const member = Option.getOrUndefined(registry.findComputer(agent.office, computer))
      const target = member === undefined ? undefined : targetOf(member)
      const bytes = requestMemory(body)
      const limitError = inFlightCalls.checkLimits(agentConnection, target, bytes)
      if (limitError !== undefined) {
        notifyObservers(limitError)
        return resume(Effect.fail(limitError))
      }
      if (member === undefined || target === undefined) {
        // A shared registry must be queried, which takes time.
        return resume(
          Effect.acquireUseRelease(
            Effect.sync(() => inFlightCalls.addLookup(agentConnection, bytes)),
            () =>
              Effect.tapError(rejectAbsent(agent.office, computer), (error) =>
                Effect.sync(() => notifyObservers(error))
              ),
            () => Effect.sync(() => inFlightCalls.removeLookup(agentConnection, bytes))
          )
        )
      }
      const cancelAtComputer = () => {
        if (definition.cancellable)
          notifications.notifyMembers([member], { _tag: "Cancelled", agent: agent.name, reqId })
      }
      const inFlight = new InFlightCall(
        agent.office,
        (ended, exit) => {
          inFlightCalls.remove(agentConnection, target, ended, bytes)
          if (exit === undefined) return notifyObservers(notInOffice())
          const at = clock.currentTimeMillisUnsafe()
          agentConnection.lastActivityAt = at
          if (Exit.isSuccess(exit) && typeof target !== "string") target.lastActivityAt = at
          const outcome = Exit.isSuccess(exit)
            ? checkReply(exit.value)
            : Result.fail(toProtocolError(computer, exit.cause))
          notifyObservers(Result.merge(outcome))
          if (Result.isSuccess(outcome)) resume(Effect.succeed(outcome.success))
          else {
            cancelAtComputer()
            resume(Effect.fail(outcome.failure))
          }
        },
        { computer, reqId, serial, startedAt, describe }
      )
      const timeout =
        timeoutSeconds === undefined
          ? routingTimeout
          : Duration.millis(timeoutSeconds * 1000 + Duration.toMillis(timeoutGrace))
      call = inFlight
      const { end, takeExtension } = inFlight
      inFlightCalls.add(agentConnection, target, inFlight, bytes)
      inFlight.started(
        typeof target === "string"
          ? nodes.startRequest(member, event, body, timeout, end, takeExtension)
          : target.link.startRequest(event, body, timeout, end, takeExtension)
      )
      return Effect.sync(() => {
        if (inFlight.cancel()) cancelAtComputer()
      })
    })
})
