import { Effect, Result } from "effect"
import { type Body, decodeHead } from "../../ports/Body.ts"
import type { Connection, Connections } from "../connections/Connections.ts"
import { makeForwardNotification } from "../connections/forwardNotification.ts"
import type { ServerContext } from "../lifecycle/ServerContext.ts"
import { lineOf } from "../membership/Notifications.ts"

/** In bytes of JSON text: twenty names of servers fit. */
export const maxCallStatusBytes = 32 * 1024

/** True while an Agent waits for the call that a status is about. */
export const isCallInFlight = ({ calls, line }: Connection, body: Body): boolean => {
  const decoded = decodeHead(body, line.callStatus.request.decode)
  if (Result.isFailure(decoded)) return false
  const { computer, reqId } = decoded.success
  for (const call of calls) if (call.reqId === reqId && call.computer === computer) return true
  return false
}

/** Forwards the status of a call in an office to its Agent. */
export type ForwardCallStatus = (office: string, body: Body) => Effect.Effect<void>

/** Makes a function that forwards the status of a call in an office to its Agent, whose node checks the call. */
export const makeCallStatusForwarding = (context: ServerContext, connections: Connections): ForwardCallStatus => {
  const { nodeLink, registry } = context
  const forward = makeForwardNotification(context)

  return (office, body) =>
    Effect.suspend(() => {
      const [agent] = registry.members(office)
      if (agent?.membership.role !== "agent") return Effect.void
      if (agent.node === nodeLink.node) {
        const connection = connections.get(agent.sid)
        return connection !== undefined && isCallInFlight(connection, body)
          ? forward(connection, connection.line.callStatus.notification, body)
          : Effect.void
      }
      return Effect.sync(() => nodeLink.notify(agent.node, [agent.sid], lineOf(agent).callStatus.notification, body))
    })
}
