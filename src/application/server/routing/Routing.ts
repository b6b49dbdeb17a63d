import { Cause, Duration, Effect, Exit, Option, Result } from "effect"
import type { Member, Membership } from "../../../domain/model/Membership.ts"
import type { RoutedDefinition } from "../../../domain/wire/lines.ts"
import {
  computerNotFound,
  forbidden,
  internalError,
  notInOffice,
  otherOffice,
  type ProtocolError,
  timedOut
} from "../../../domain/model/ProtocolError.ts"
import { type Body, decodeHead } from "../../ports/Body.ts"
import type { LinkClosed, Reply, RequestTimeout, SendFailed } from "../../ports/Transport.ts"
import type { ClusterNodes } from "../cluster/ClusterNodes.ts"
import type { Connection } from "../connections/Connection.ts"
import type { Connections } from "../connections/Connections.ts"
import type { LengthChecks } from "../connections/lengthChecks.ts"
import type { Notifications } from "../membership/Notifications.ts"
import type { CompletedCall } from "../observability/observers.ts"
import type { ClientRequest } from "./ClientRequest.ts"
import { InFlightCall } from "./InFlightCall.ts"
import type { InFlightCalls } from "./InFlightCalls.ts"
import type { ServerContext } from "../lifecycle/ServerContext.ts"

/** The membership of a client that must have this role, or the error of its request. */
export const requireMembership = (
  { registration: { session } }: Connection,
  role: "agent" | "computer"
): Result.Result<Membership, ProtocolError> =>
  Option.isSome(session.role) && session.role.value !== role
    ? Result.fail(forbidden(`Only ${role}s may send this`))
    : Result.fromOption(session.membership, notInOffice)

const toProtocolError = (computer: string, error: LinkClosed | RequestTimeout | SendFailed): ProtocolError => {
  switch (error._tag) {
    case "LinkClosed":
      return computerNotFound(computer)
    case "RequestTimeout":
      return timedOut(Duration.toSeconds(error.timeout))
    case "SendFailed":
      return error.error
  }
}

/** The protocol error of a failed request; a defect maps to code 500. */
const causeToProtocolError = (
  computer: string,
  cause: Cause.Cause<LinkClosed | RequestTimeout | SendFailed>
): ProtocolError =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => internalError("Internal error"),
    onSome: (error) => toProtocolError(computer, error)
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

interface RoutingParts {
  readonly connections: Connections
  readonly inFlightCalls: InFlightCalls
  readonly notifications: Notifications
  readonly nodes: ClusterNodes
  readonly lengths: LengthChecks
}

/** Routes a request to the named Computer and gives the Computer's reply. */
export type Route = (request: ClientRequest, definition: RoutedDefinition) => Effect.Effect<Body, ProtocolError>

/** Makes the function that routes requests between members of one office. Bodies pass through undecoded. */
export const makeRouting = (
  { callObservers: observers, clock, registry, settings }: ServerContext,
  { connections, inFlightCalls, lengths, nodes, notifications }: RoutingParts
): Route => {
  const { routingTimeout, timeoutGrace } = settings
  const now = () => Number(clock.currentTimeNanosUnsafe()) / 1e6

  const rejectAbsent = (office: string, computer: string): Effect.Effect<never, ProtocolError> =>
    Effect.flatMap(registry.isComputerElsewhere(office, computer), (elsewhere) =>
      elsewhere
        ? Effect.andThen(
            Effect.logWarning("cross-office request rejected", { office, computer }),
            Effect.fail(otherOffice(`Computer '${computer}'`))
          )
        : Effect.fail(computerNotFound(computer))
    )

  /** The connection of a Computer of this node, or the session id of one of another node. */
  const targetOf = ({ node, sid }: Member): Connection | string | undefined => {
    if (node !== registry.node) return sid
    const connection = connections.get(sid)
    if (connection !== undefined) connection.lastActivityAt = clock.currentTimeMillisUnsafe()
    return connection
  }

  // Callbacks in place of a generator, a fiber and a timer: this runs once per call.
  return ({ body, connection: agentConnection, event }, definition) =>
    Effect.callback((resume) => {
      const routing = Result.flatMap(decodeHead(body, definition.decodeRouting), lengths.checkRequestId)
      if (Result.isFailure(routing)) return resume(Effect.fail(routing.failure))
      const membership = requireMembership(agentConnection, definition.from)
      if (Result.isFailure(membership)) return resume(Effect.fail(membership.failure))
      const { computer, reqId, timeoutSeconds } = routing.success
      const agent = membership.success
      const startedAt = observers.length === 0 ? 0 : now()
      const notifyObservers = (outcome: Body | ProtocolError) => {
        if (observers.length === 0) return
        const call: CompletedCall = {
          event: definition.event,
          sid: agentConnection.link.id,
          agent,
          subject: agentConnection.identity.subject,
          computer,
          reqId,
          request: body,
          outcome,
          startedAt,
          endedAt: now()
        }
        for (const observe of observers) observe(call)
      }
      const member = Option.getOrUndefined(registry.findComputer(agent.office, computer))
      const target = member === undefined ? undefined : targetOf(member)
      const limitError = inFlightCalls.checkLimits(agentConnection, target)
      if (limitError !== undefined) {
        notifyObservers(limitError)
        return resume(Effect.fail(limitError))
      }
      if (member === undefined || target === undefined) {
        // A shared registry must be queried, which takes time.
        inFlightCalls.addLookup(agentConnection)
        return resume(
          rejectAbsent(agent.office, computer).pipe(
            Effect.tapError((error) => Effect.sync(() => notifyObservers(error))),
            Effect.ensuring(Effect.sync(() => inFlightCalls.removeLookup(agentConnection)))
          )
        )
      }
      const cancelAtComputer = () =>
        definition.cancellable
          ? notifications.notifyMembers([member], { _tag: "Cancelled", agent: agent.name, reqId })
          : Effect.void
      const call = new InFlightCall(agent.office, (ended, exit) => {
        inFlightCalls.remove(agentConnection, target, ended)
        if (exit === undefined) return notifyObservers(notInOffice())
        const at = clock.currentTimeMillisUnsafe()
        agentConnection.lastActivityAt = at
        if (Exit.isSuccess(exit) && typeof target !== "string") target.lastActivityAt = at
        const outcome = Exit.isSuccess(exit)
          ? checkReply(exit.value)
          : Result.fail(causeToProtocolError(computer, exit.cause))
        notifyObservers(Result.merge(outcome))
        // Replies are never dropped, so an Agent that does not read them must be found here.
        connections.checkBacklog(agentConnection)
        if (Result.isSuccess(outcome)) resume(Effect.succeed(outcome.success))
        else resume(Effect.andThen(cancelAtComputer(), Effect.fail(outcome.failure)))
      })
      const timeout =
        timeoutSeconds === undefined
          ? routingTimeout
          : Duration.millis(timeoutSeconds * 1000 + Duration.toMillis(timeoutGrace))
      inFlightCalls.add(agentConnection, target, call)
      call.started(
        typeof target === "string"
          ? nodes.startRequest(member, event, body, timeout, call.end)
          : target.link.startRequest(event, body, timeout, call.end)
      )
      return Effect.suspend(() => (call.cancel() ? cancelAtComputer() : Effect.void))
    })
}
