import { Effect, Result } from "effect"
import { type Body, decodeHead } from "../../ports/Body.ts"
import type { Connection, Connections } from "../connections/Connections.ts"
import { makeForwardNotification } from "../connections/forwardNotification.ts"
import type { ServerContext } from "../lifecycle/ServerContext.ts"
import type { InFlightCall } from "./InFlightCall.ts"
import { lineOf } from "../membership/Notifications.ts"

/** In bytes of JSON text: twenty names of servers fit. */
export const maxCallStatusBytes = 32 * 1024

/** The call that a status is about, while its Agent waits for it. */
const findCall = ({ calls, line }: Connection, body: Body): InFlightCall | undefined => {
  const decoded = decodeHead(body, line.callStatus.request.decode)
  if (Result.isFailure(decoded)) return undefined
  const { computer, reqId } = decoded.success
  for (const call of calls) if (call.origin?.reqId === reqId && call.origin.computer === computer) return call
  return undefined
}

/**
 * Makes a function that checks whether an Agent of this node waits for the call that a status is about. Reports such a
 * status to the observers.
 */
export const makeCallStatusCheck =
  ({ callStatusObservers: observers }: Pick<ServerContext, "callStatusObservers">) =>
  (connection: Connection, body: Body): boolean => {
    const call = findCall(connection, body)
    if (call?.origin !== undefined)
      for (const observe of observers) observe(call.origin.describe, connection.line, body)
    return call !== undefined
  }

/** Forwards the status of a call, from its Computer, to the Agent that waits for it. */
export type ForwardCallStatus = (computer: Connection, office: string, body: Body) => Effect.Effect<void>

/** Makes a function that forwards the status of a call to its Agent: of this node, or of another, which checks the call. */
export const makeCallStatusForwarding = (context: ServerContext, connections: Connections): ForwardCallStatus => {
  const { callStatusObservers: observers, nodeLink, registry } = context
  const forward = makeForwardNotification(context)

  return (computer, office, body) =>
    Effect.suspend(() => {
      const describe = findCall(computer, body)?.origin?.describe
      if (describe !== undefined) {
        for (const observe of observers) observe(describe, computer.line, body)
        const caller = connections.get(describe().sid)
        return caller === undefined ? Effect.void : forward(caller, caller.line.callStatus.notification, body)
      }
      const [agent] = registry.members(office)
      if (agent?.membership.role !== "agent" || agent.node === nodeLink.node) return Effect.void
      return Effect.sync(() => nodeLink.notify(agent.node, [agent.sid], lineOf(agent).callStatus.notification, body))
    })
}
