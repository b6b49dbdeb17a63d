import { Cause, Clock, Context, Duration, Effect, Exit, Layer, Option, Result } from "effect"
import type { Member, Membership, Session } from "../../../domain/model/Membership.ts"
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
import type { Reply, Link, LinkClosed, RequestTimeout, SendFailed } from "../../ports/Transport.ts"
import { CallObservers, type CompletedCall } from "../observability/observers.ts"
import { makeCallLimits } from "./callLimits.ts"
import { InFlightCalls, type InFlightCall } from "./InFlightCalls.ts"
import { Connections } from "../connections/Connections.ts"
import { makeLengthChecks } from "../connections/lengthChecks.ts"
import { MembershipCoordinator } from "../membership/MembershipCoordinator.ts"
import { ClusterNodes } from "../cluster/ClusterNodes.ts"
import { Notifications } from "../membership/Notifications.ts"
import { ServerSettings } from "../lifecycle/ServerSettings.ts"

/** What a sender may do, found out once per message. */
export const requireMembership = (
  session: Option.Option<Session>,
  role: "agent" | "computer"
): Result.Result<Membership, ProtocolError> => {
  const known = Option.getOrUndefined(session)
  if (known === undefined) return Result.fail(notInOffice())
  if (Option.isSome(known.role) && known.role.value !== role) {
    return Result.fail(forbidden(`Only ${role}s may send this`))
  }
  return Result.fromOption(known.membership, notInOffice)
}

const toProtocolError = (
  computer: string,
  error: LinkClosed | RequestTimeout | SendFailed
): ProtocolError => {
  switch (error._tag) {
    case "LinkClosed":
      return computerNotFound(computer)
    case "NoAnswer":
      return timedOut(Duration.toSeconds(error.timeout))
    case "NotSent":
      return error.error
  }
}

/** Why an ask failed; one that died instead is our own trouble. */
const causeToProtocolError = (
  computer: string,
  cause: Cause.Cause<LinkClosed | RequestTimeout | SendFailed>
): ProtocolError =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => internalError("Internal error"),
    onSome: (error) => toProtocolError(computer, error)
  })

/** The one body of an answer, or a refusal where the Computer gave anything but an object (spec §4.1). */
const checkReply = (reply: Reply): Result.Result<Body, ProtocolError> => {
  const [body] = reply
  if (body === undefined) return Result.fail(internalError("The Computer's answer is empty"))
  if (body.isObject) return Result.succeed(body)
  return Result.isFailure(body.head)
    ? Result.fail(internalError(`The Computer's answer is unusable: ${body.head.failure.message}`))
    : Result.fail(internalError("The Computer's answer is no object"))
}

/** Carries requests of Agents to Computers of the same office and the answers back, both unread. */
export class Routing extends Context.Service<
  Routing,
  {
    /** Routes one request. It ends with the Computer's own answer or with the reason why there is none. */
    readonly route: (
      sid: string,
      definition: RoutedDefinition,
      event: string,
      body: Body
    ) => Effect.Effect<Body, ProtocolError>
  }
>()("a2c-smcp/application/server/Routing") {
  static readonly layer = Layer.effect(
    Routing,
    Effect.gen(function* () {
      const coordinator = yield* MembershipCoordinator
      const connections = yield* Connections
      const inFlightCalls = yield* InFlightCalls
      const notifications = yield* Notifications
      const nodes = yield* ClusterNodes
      const { timeoutGrace, routingTimeout } = yield* ServerSettings
      const observers = yield* CallObservers
      const clock = yield* Clock.Clock
      const now = () => Number(clock.currentTimeNanosUnsafe()) / 1e6
      const lengths = yield* makeLengthChecks
      const callLimit = yield* makeCallLimits

      const rejectAbsent = (office: string, computer: string): Effect.Effect<never, ProtocolError> =>
        Effect.flatMap(coordinator.isComputerElsewhere(office, computer), (elsewhere) =>
          elsewhere
            ? Effect.andThen(
                Effect.logWarning("request across offices refused", { office, computer }),
                Effect.fail(otherOffice(`Computer '${computer}'`))
              )
            : Effect.fail(computerNotFound(computer))
        )

      /** How a Computer is reached, be it here or at another node. */
      const linkOf = ({
        node,
        membership,
        sid,
        version
      }: Member): Pick<Link, "id" | "startRequest"> | undefined => {
        if (node !== coordinator.node) return nodes.remoteConnection({ node, sid, membership, version }).link
        const connection = connections.get(sid)
        if (connection === undefined) return undefined
        connection.lastActivityAt = clock.currentTimeMillisUnsafe()
        return connection.link
      }

      // No generator, no fiber of its own and no timer: this is what every call costs.
      const route = (
        sid: string,
        definition: RoutedDefinition,
        event: string,
        body: Body
      ): Effect.Effect<Body, ProtocolError> =>
        Effect.callback((resume) => {
          const routing = Result.flatMap(decodeHead(body, definition.decodeRouting), lengths.checkRequestId)
          if (Result.isFailure(routing)) return resume(Effect.fail(routing.failure))
          const membership = requireMembership(coordinator.session(sid), definition.from)
          if (Result.isFailure(membership)) return resume(Effect.fail(membership.failure))
          const { computer, reqId, timeoutSeconds } = routing.success
          const agent = membership.success
          const startedAt = observers.length === 0 ? 0 : now()
          const agentConnection = connections.get(sid)
          const subject = agentConnection?.identity.subject
          const notifyObservers = (outcome: Body | ProtocolError) => {
            if (observers.length === 0) return
            const call: CompletedCall = {
              event: definition.event,
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
          const member = Option.getOrUndefined(coordinator.findComputer(agent.office, computer))
          const link = member === undefined ? undefined : linkOf(member)
          const target = link?.id ?? `absent for ${sid}`
          const limitError = callLimit(sid, target)
          if (limitError !== undefined) {
            notifyObservers(limitError)
            return resume(Effect.fail(limitError))
          }
          if (member === undefined || link === undefined) {
            // The other nodes may have to be asked, which takes time.
            const lookup: InFlightCall = { office: agent.office, abort: () => {} }
            inFlightCalls.add(sid, target, lookup)
            return resume(
              rejectAbsent(agent.office, computer).pipe(
                Effect.tapError((error) => Effect.sync(() => notifyObservers(error))),
                Effect.ensuring(Effect.sync(() => inFlightCalls.remove(sid, target, lookup)))
              )
            )
          }
          let done = false
          let cancelRequest = () => {}
          const complete = (outcome: Body | ProtocolError) => {
            done = true
            inFlightCalls.remove(sid, link.id, call)
            notifyObservers(outcome)
          }
          /** The Computer may have begun, and is told that nobody waits any more. */
          const cancelAtComputer = () =>
            definition.cancellable
              ? notifications.notifyMembers([member], { _tag: "Cancelled", agent: agent.name, reqId })
              : Effect.void
          const call: InFlightCall = {
            office: agent.office,
            abort: (reason) => {
              if (done) return
              cancelRequest()
              complete(reason)
              resume(Effect.andThen(cancelAtComputer(), Effect.fail(reason)))
            }
          }
          const timeout =
            timeoutSeconds === undefined
              ? routingTimeout
              : Duration.millis(timeoutSeconds * 1000 + Duration.toMillis(timeoutGrace))
          // Registered before it starts: whoever it reaches may leave before the start has returned.
          inFlightCalls.add(sid, link.id, call)
          cancelRequest = link.startRequest(event, body, timeout, (exit) => {
            if (done) return
            const at = clock.currentTimeMillisUnsafe()
            if (agentConnection !== undefined) agentConnection.lastActivityAt = at
            const other = Exit.isSuccess(exit) ? connections.get(link.id) : undefined
            if (other !== undefined) other.lastActivityAt = at
            const outcome = Exit.isSuccess(exit)
              ? checkReply(exit.value)
              : Result.fail(causeToProtocolError(computer, exit.cause))
            complete(Result.merge(outcome))
            // Answers are never dropped, so whoever collects them without reading is found out here.
            if (agentConnection !== undefined) connections.checkBacklog(agentConnection)
            if (Result.isSuccess(outcome)) resume(Effect.succeed(outcome.success))
            else resume(Effect.andThen(cancelAtComputer(), Effect.fail(outcome.failure)))
          })
          return Effect.suspend(() => {
            if (done) return Effect.void
            cancelRequest()
            complete(notInOffice())
            return cancelAtComputer()
          })
        })

      return Routing.of({ route })
    })
  )
}
