import { Duration, Effect, Exit, Result } from "effect"
import type { OfficeKey, SessionId } from "../../../domain/model/ids.ts"
import type { CallStatusDefinition } from "../../../domain/wire/ProtocolLine.ts"
import { type Body, decodeBody, decodeHead, jsonBody } from "../../ports/Body.ts"
import { NodeLink } from "../nodes/NodeLink.ts"
import type { NodeReplyExit } from "../nodes/nodeMessages.ts"
import { OfficeRegistry } from "../../ports/OfficeRegistry.ts"
import type { Connection, Connections } from "../connections/Connections.ts"
import { CallStatusObservers } from "../observability/observers.ts"
import type { InFlightCall } from "../connections/InFlightCall.ts"
import { isConsent } from "../../../domain/model/CallStatus.ts"
import { lineOf } from "../membership/Notifications.ts"

/** In bytes of JSON text: twenty names of servers fit. */
export const maxCallStatusBytes = 32 * 1024

/** How long the node of an Agent may take to receive a status that announces a wait. */
const nodeTimeout = Duration.seconds(5)

type StatusHead = Result.Result.Success<ReturnType<CallStatusDefinition["request"]["decode"]>>

const decodeStatus = ({ line }: Connection, body: Body): StatusHead | undefined =>
  Result.getOrUndefined(decodeHead(body, line.callStatus.request.decode))

/**
 * The call that a status is about, while its caller waits for it. Callers may choose equal ids: without the name of the caller
 * a status is about the only call of its id.
 */
const findCall = (
  calls: Iterable<InFlightCall>,
  { agent, computer, reqId }: Pick<StatusHead, "agent" | "computer" | "reqId">
): InFlightCall | undefined => {
  const found = Array.from(calls).filter(
    ({ origin }) =>
      origin?.reqId === reqId &&
      origin.computer === computer &&
      (agent === undefined || origin.describe().agent.name === agent)
  )
  return found.length === 1 || agent !== undefined ? found[0] : undefined
}

/**
 * Makes the function that receives the status of a call at the node of its Agent, reports it to the observers, and gives it
 * to the Agent. Gives the seconds that the Server and the Agent wait on. The Agent does not get the status where it does
 * not wait for the call, or is of another implementation, which does not know the message.
 */
export const makeCallStatusReceiver = (connections: Pick<Connections, "forward">) =>
  Effect.map(
    CallStatusObservers,
    (observers) =>
      (agent: Connection, calls: Iterable<InFlightCall>, body: Body): number => {
        const head = decodeStatus(agent, body)
        const call = head && findCall(calls, head)
        if (head === undefined || call?.origin === undefined) return 0
        // A kind of status that this version does not know passes through.
        const report = Result.getOrUndefined(decodeBody(body, agent.line.decodeCallStatus))
        if (report !== undefined) {
          const { status } = report
          const awaited = status._tag === "WaitingForConsent" ? status.approval : undefined
          call.reported = {
            ...call.reported,
            status,
            ...(isConsent(status) && { decision: status }),
            ...(awaited && awaited.isQuestion !== true && { approval: awaited.id })
          }
          for (const observe of observers) observe(call.origin.describe)
        }
        if (!agent.features.callStatus) return 0
        const { waitSeconds = 0 } = head
        if (waitSeconds > 0) call.extend(waitSeconds)
        connections.forward(agent, agent.line.callStatus.notification, body)
        return waitSeconds
      }
  )

/** Forwards the status of a call, from its Computer, to its Agent. Gives the seconds that the Server and the Agent wait on. */
export type ForwardCallStatus = Effect.Success<ReturnType<typeof makeCallStatusForwarding>>

/** Makes the function for an Agent of this node, or of another, which checks the call. */
export const makeCallStatusForwarding = Effect.fnUntraced(function* (connections: Connections) {
  const nodeLink = yield* NodeLink
  const registry = yield* OfficeRegistry
  const receive = yield* makeCallStatusReceiver(connections)

  /** Announces a wait to the node of the Agent, and waits on here for as long as it does. */
  const announceToNode = (
    computer: Connection,
    agent: { readonly node: string; readonly sid: SessionId },
    office: OfficeKey,
    event: string,
    body: Body
  ) =>
    Effect.callback<number>((resume) => {
      const onReply = (exit: NodeReplyExit) => {
        const [ack] = Exit.isSuccess(exit) ? exit.value : []
        const decoded = ack && Result.getOrUndefined(decodeHead(ack, computer.line.callStatus.waitAck.decode))
        const waitSeconds = decoded?.waitSeconds ?? 0
        const reqId = decodeStatus(computer, body)?.reqId
        if (waitSeconds > 0) {
          for (const call of computer.inboundCalls) if (call.reqId() === reqId) call.extend(waitSeconds)
        }
        resume(Effect.succeed(waitSeconds))
      }
      const cancel = nodeLink.startRequest(agent.node, { sid: agent.sid, office }, event, body, nodeTimeout, onReply)
      return Effect.sync(cancel)
    })

  return (computer: Connection, office: OfficeKey, body: Body): Effect.Effect<number> =>
    Effect.suspend(() => {
      const head = decodeStatus(computer, body)
      const call = head && findCall(computer.calls, head)
      if (call?.origin !== undefined) {
        const agent = connections.get(call.origin.describe().sid)
        return Effect.succeed(agent === undefined ? 0 : receive(agent, [call], body))
      }
      const [agent] = registry.members(office)
      if (agent?.membership.role !== "agent" || agent.node === nodeLink.node) return Effect.succeed(0)
      const { notification } = lineOf(agent).callStatus
      if (head?.waitSeconds !== undefined) return announceToNode(computer, agent, office, notification, body)
      nodeLink.notify(agent.node, [agent.sid], notification, body)
      return Effect.succeed(0)
    })
})

/** The acknowledgement of a status that announces a wait. */
export const encodeWaitAck = ({ line }: Connection, waitSeconds: number): Body =>
  jsonBody(line.callStatus.waitAck.encode({ waitSeconds }))
