import { Clock, Effect, Exit, FiberSet, Option, Result, type Scope } from "effect"
import type { OfficeKey, ComputerName } from "../../../domain/model/ids.ts"
import type { Member } from "../../../domain/model/Membership.ts"
import { shuttingDown, unavailable } from "../../../domain/model/ProtocolError.ts"
import { type Body, decodeHead } from "../../ports/Body.ts"
import { NodeLink } from "../nodes/NodeLink.ts"
import type { NodeReplyExit, NodeMessageHandler } from "../nodes/nodeMessages.ts"
import { type Link, LinkClosed, type ReplyExit, SendFailed } from "../../ports/Transport.ts"
import type { Connection, Connections } from "../connections/Connections.ts"
import { Readiness } from "../observability/Readiness.ts"
import { type Gauge, ServerMetrics } from "../observability/ServerMetrics.ts"
import { encodeWaitAck, makeCallStatusReceiver } from "./callStatus.ts"
import { InFlightCall, type OnCallEnd } from "../connections/InFlightCall.ts"

/** Addresses the operators' service of a node instead of a member. */
export const operatorsTarget = { sid: "a2c:operators", office: "" }

const memberGone = new LinkClosed({ reason: "the member is not here" })

const toMemberReply = (exit: NodeReplyExit, computer: ComputerName): ReplyExit =>
  Exit.mapError(exit, (error) =>
    error._tag === "NodeUnreachable"
      ? new SendFailed({ error: unavailable(`The node of Computer '${computer}' cannot be reached`) })
      : error
  )

const requestIdOf = ({ line }: Connection, event: string, body: Body): string | undefined => {
  const definition = line.findEventDefinition(event)
  if (definition?.kind !== "call") return undefined
  return Result.getOrUndefined(decodeHead(body, definition.decodeRouting))?.reqId
}

/** True when a member is not in the office that a request names. During a join or leave this node may be behind. */
const hasMoved = ({ pendingMembershipChanges, registration }: Connection, office: OfficeKey): boolean =>
  pendingMembershipChanges === 0 &&
  !Option.exists(registration.session.membership, (current) => current.office === office)

/** Makes the function that sends a call of another node to its member here, and gives the function that cancels it. */
const makeInboundCallStart =
  (clock: Clock.Clock) =>
  (connection: Connection, office: OfficeKey, ...[event, body, timeout, onReply]: Parameters<Link["startRequest"]>) => {
    connection.lastActivityAt = clock.currentTimeMillisUnsafe()
    // The node of the Agent reports the call, and cancels it at the Computer.
    const onCallEnd: OnCallEnd = (exit, _isReplied, ended) => {
      connection.inboundCalls.delete(ended)
      if (exit === undefined) return
      if (Exit.isSuccess(exit)) connection.lastActivityAt = clock.currentTimeMillisUnsafe()
      onReply(exit)
    }
    const call = new InFlightCall(office, onCallEnd, () => requestIdOf(connection, event, body))
    const onEnd = (exit: ReplyExit) => call.end(exit)
    connection.inboundCalls.add(call)
    call.started(connection.link.startRequest(event, body, timeout, onEnd, call.takeExtension))
    return () => call.cancel()
  }

const nodeGauges = ({ load }: NodeLink["Service"]): ReadonlyArray<Gauge> => [
  { name: "node_requests", labels: { direction: "out" }, read: () => load().outboundRequests },
  { name: "node_requests", labels: { direction: "in" }, read: () => load().inboundRequests },
  { name: "node_queued_bytes", read: () => load().queuedBytes },
  { name: "node_links", read: () => load().links },
  { name: "node_dropped_messages_total", read: () => load().unsent }
]

export type ClusterNodes = Effect.Success<ReturnType<typeof makeClusterNodes>>

/** Serves the other nodes until the scope closes, and sends requests to their members. */
export const makeClusterNodes = Effect.fnUntraced(function* (connections: Connections) {
  const startInboundCall = makeInboundCallStart(yield* Clock.Clock)
  const metrics = yield* ServerMetrics
  const nodeLink = yield* NodeLink
  const readiness = yield* Readiness
  const receiveStatus = yield* makeCallStatusReceiver(connections)
  const run = yield* FiberSet.makeRuntime<never>()
  let serveOperators: ((body: Body) => Effect.Effect<Body>) | undefined

  /** Runs an effect, and gives the function that cancels it. */
  const start = (effect: Effect.Effect<void>): (() => void) => {
    const fiber = run(effect)
    return () => fiber.interruptUnsafe()
  }

  /** Replies after a yield: the requester must first receive the function that cancels. */
  const replySoon = (onReply: (exit: ReplyExit) => void, exit: ReplyExit): (() => void) =>
    start(Effect.map(Effect.yieldNow, () => onReply(exit)))

  const handler: NodeMessageHandler = {
    startRequest: ({ office, sid }, event, body, timeout, onReply) => {
      if (sid === operatorsTarget.sid && serveOperators !== undefined)
        return start(Effect.map(serveOperators(body), (reply) => onReply(Exit.succeed([reply]))))
      const connection = connections.get(sid)
      if (connection === undefined || hasMoved(connection, office)) return replySoon(onReply, Exit.fail(memberGone))
      if (event === connection.line.callStatus.notification) {
        const waitSeconds = receiveStatus(connection, connection.calls, body)
        return replySoon(onReply, Exit.succeed([encodeWaitAck(connection, waitSeconds)]))
      }
      if (readiness.isDraining()) return replySoon(onReply, Exit.fail(new SendFailed({ error: shuttingDown() })))
      return startInboundCall(connection, office, event, body, timeout, onReply)
    },
    notify: (sids, event, body) => {
      for (const sid of sids) {
        const connection = connections.get(sid)
        if (connection === undefined) continue
        if (event === connection.line.callStatus.notification) receiveStatus(connection, connection.calls, body)
        else connections.forward(connection, event, body)
      }
    }
  }
  yield* nodeLink.serve(handler)
  yield* Effect.forEach(nodeGauges(nodeLink), metrics.gauge, { discard: true })

  return {
    /** Serves the requests of other nodes for their operators, as long as the scope. */
    serveOperators: (serve: (body: Body) => Effect.Effect<Body>): Effect.Effect<void, never, Scope.Scope> =>
      Effect.acquireRelease(
        Effect.sync(() => void (serveOperators = serve)),
        () => Effect.sync(() => void (serveOperators = undefined))
      ),
    /**
     * Sends a request to a member of another node. Fails with {@link SendFailed} and code 503 when its node cannot be
     * reached, though the member may have received the request.
     */
    startRequest: (
      { membership: { name, office }, node, sid }: Pick<Member, "node" | "sid" | "membership">,
      ...[event, body, timeout, onReply, extend]: Parameters<Link["startRequest"]>
    ): (() => void) => {
      const onEnd = (exit: NodeReplyExit) => onReply(toMemberReply(exit, name))
      return nodeLink.startRequest(node, { sid, office }, event, body, timeout, onEnd, extend)
    }
  }
})
