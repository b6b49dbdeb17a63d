import { Duration, Effect, Result, Stream, SubscriptionRef } from "effect"
import type { CallStatus } from "../../domain/model/CallStatus.ts"
import type { Membership } from "../../domain/model/Membership.ts"
import {
  forbidden,
  type ProtocolError,
  retryableMessage,
  unavailable,
  unknownEvent
} from "../../domain/model/ProtocolError.ts"
import type { RoutedDefinition } from "../../domain/wire/defineCall.ts"
import type { OfficeMember } from "../member/OfficeMember.ts"
import type { AgentShape } from "./Agent.ts"
import { type Body, decodeHead, jsonBody } from "../ports/Body.ts"
import {
  ServedLines,
  type ExtendTimeout,
  type Link,
  type MessageHandler,
  type Reply,
  toLinkError,
  TransportServer
} from "../ports/Transport.ts"

/** The timeout of a request that states none. Longer than the Server's and the other process's, which end it first. */
const defaultTimeoutSeconds = 60

/** Added to the timeout that a request states. */
const timeoutMarginSeconds = 30

const sharedPlace = forbidden("Only the process that shares the office can leave it")

const toProtocolError = (error: Effect.Error<ReturnType<OfficeMember["request"]>>): ProtocolError => {
  if (error._tag === "NotPermitted") return forbidden(error.message)
  return toLinkError(unavailable("The Agent that shares the office has no connection to the Server"))(error)
}

type SharingAgent = Pick<AgentShape, "events" | "member" | "statuses">

/**
 * Handles the messages of another process that acts as the Agent: its join succeeds at once, and its requests go through
 * the connection of the Agent. A tool call that the other process abandons is cancelled. The statuses of its calls go to
 * `link`.
 */
export const makeShareHandler = (
  { member, statuses }: Pick<SharingAgent, "member" | "statuses">,
  { name, office }: Omit<Membership, "role">,
  link: Pick<Link, "notify">
): MessageHandler => {
  const { line } = member
  const { cancel, serverRequests } = line
  const errorReply = (error: ProtocolError): Reply => [jsonBody(line.encodeProtocolError(error))]

  const join = Effect.fnUntraced(function* (body: Body) {
    const request = yield* Effect.fromResult(decodeHead(body, serverRequests.join.request.decode))
    if (request.role !== "agent" || request.name !== name || request.officeId !== office) {
      return yield* forbidden(`This is a connection of the Agent '${name}' in office '${office}'`)
    }
    const { _tag } = yield* SubscriptionRef.get(member.status)
    if (_tag !== "Joined")
      return yield* unavailable(retryableMessage("The Agent that shares the office is not connected"))
  })

  const forward = (event: string, body: Body, seconds: number, extend?: ExtendTimeout): Effect.Effect<Reply> =>
    Effect.match(member.request(event, body, Duration.seconds(seconds), extend), {
      onSuccess: (reply) => reply,
      onFailure: (error) => errorReply(toProtocolError(error))
    })

  const call = (event: string, body: Body, { cancellable, decodeRouting }: RoutedDefinition): Effect.Effect<Reply> => {
    const routing = decodeHead(body, decodeRouting)
    if (Result.isFailure(routing)) return Effect.succeed(errorReply(routing.failure))
    const { agent, computer, reqId, timeoutSeconds = defaultTimeoutSeconds } = routing.success
    const forwarded = (extend?: ExtendTimeout) => forward(event, body, timeoutSeconds + timeoutMarginSeconds, extend)
    if (!cancellable) return forwarded()
    const onStatus = (status: CallStatus) =>
      Effect.ignore(link.notify(line.callStatus.notification, jsonBody(line.encodeCallStatus({ reqId, status }))))
    const cancelBody = jsonBody(cancel.request.encode({ agent, reqId }))
    const listened = statuses.listen({ reqId, computer, onStatus, sharedCall: body }, forwarded)
    return Effect.onInterrupt(listened, () => Effect.ignore(member.notify(cancel.event, cancelBody)))
  }

  return (event, body) => {
    const definition = line.findEventDefinition(event)
    switch (definition?.kind) {
      case "join":
        return Effect.map(Effect.result(join(body)), (outcome) => line.encodeMembershipAck(outcome).map(jsonBody))
      case "leave":
        return Effect.succeed(line.encodeMembershipAck(Result.fail(sharedPlace)).map(jsonBody))
      case "list":
        return forward(event, body, defaultTimeoutSeconds)
      case "call":
        return call(event, body, definition)
      case "cancel":
        return Effect.as(Effect.ignore(member.notify(event, body)), [])
      case "callStatus":
      case "update":
      case undefined:
        return Effect.succeed(errorReply(unknownEvent(event)))
    }
  }
}

/**
 * Lets other processes act as this Agent, on the transport of the context, until the scope closes. Gives an effect that
 * waits until no other process does.
 */
export const shareOffice = Effect.fnUntraced(function* (agent: SharingAgent, membership: Omit<Membership, "role">) {
  const { serve } = yield* TransportServer
  const { line } = agent.member
  const users = yield* SubscriptionRef.make(0)
  const count = (change: number) => SubscriptionRef.update(users, (known) => known + change)
  yield* serve(
    Effect.fnUntraced(function* (link) {
      yield* Effect.acquireRelease(count(1), () => count(-1))
      const forwardEvents = Stream.runForEach(agent.events, (event) => {
        if (event._tag === "Joined" || event._tag === "Disconnected") return Effect.void
        const { body, event: name } = line.encodeNotification(event)
        return Effect.ignore(link.notify(name, jsonBody(body)))
      })
      yield* Effect.forkScoped(forwardEvents, { startImmediately: true })
      return makeShareHandler(agent, membership, link)
    })
  ).pipe(Effect.provideService(ServedLines, [line]))
  return Effect.asVoid(Stream.runHead(Stream.filter(SubscriptionRef.changes(users), (known) => known === 0)))
})
