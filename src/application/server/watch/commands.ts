import { Clock, Duration, Effect, FiberSet, type Scope } from "effect"
import { publicMembership } from "../../../domain/model/Membership.ts"
import { forbidden, notFound } from "../../../domain/model/ProtocolError.ts"
import { definedOnly } from "../../../domain/objects.ts"
import type { InFlightCall } from "../connections/InFlightCall.ts"
import type { OfficeAddress } from "../../../domain/page/PageEvent.ts"
import type { CallBodies } from "./CallBodies.ts"
import { type ComputerHandlerOptions, makeComputerHandlers } from "./computerRequests.ts"
import { callId, toPageCall, toPageMember } from "./pageEvents.ts"
import type { WatchedServer } from "./WatchedServer.ts"
import { executeBy, type ExecuteCommand, type Operator } from "../../shared/page/PageSource.ts"

/** How long a cancelled call may still end by the reply of its Computer. Then the Server ends it with an error. */
export const cancelGrace = Duration.seconds(5)

/** Sets the office that a stream watches; false for an unknown stream. */
export type Focus = (stream: string, office: OfficeAddress, operator: Operator) => Effect.Effect<boolean>

interface CommandOptions extends ComputerHandlerOptions {
  readonly bodies: CallBodies | undefined
  readonly focus: Focus
}

export const makeCommands = Effect.fnUntraced(function* (
  server: WatchedServer,
  { bodies, documents, focus, recorded }: CommandOptions
): Effect.fn.Return<ExecuteCommand, never, Scope.Scope> {
  const { connections, notifications, readiness, registry, servedLines } = server
  const clock = yield* Clock.Clock
  const run = yield* FiberSet.makeRuntime<never>()

  const findRunning = (id: string) => {
    for (const connection of connections.all()) {
      for (const call of connection.calls) {
        const started = call.origin?.describe()
        if (started !== undefined && callId(registry.node, started.serial) === id) return { call, started }
      }
    }
    return undefined
  }

  /**
   * Cancels a call as its Agent does: the Computer is notified, and its reply, a cancelled result, ends the call. A call
   * that cannot be cancelled this way ends with 403 at once, and one whose Computer does not reply after the grace period.
   */
  const cancelInFlight = (call: InFlightCall, agent: string, isCancellable: boolean) =>
    Effect.sync(() => {
      const { office, origin } = call
      const abort = () => call.abort(forbidden("An operator cancelled the call"))
      if (!isCancellable || origin === undefined) return abort()
      const { computer, reqId } = origin
      const member = registry.findComputer(office, computer)
      if (member._tag === "None") return abort()
      notifications.notifyMembers([member.value], { _tag: "Cancelled", agent, reqId })
      run(Effect.map(Effect.sleep(cancelGrace), abort))
    })

  return executeBy({
    Focus: (command, operator) =>
      Effect.flatMap(focus(command.stream, command, operator), (isKnown) =>
        isKnown ? Effect.succeed({}) : Effect.fail(notFound("The stream has ended"))
      ),
    Disconnect: ({ sid }, operator) => {
      const connection = connections.get(sid)
      const member = connection && toPageMember(connection, clock.currentTimeMillisUnsafe())
      const { line, name, office, role } = member ?? {}
      const disconnecting = Effect.gen(function* () {
        if (connection === undefined) return yield* notFound(`No connection '${sid}'`)
        const { subject } = connection.identity
        connection.closing = true
        yield* Effect.logInfo("connection closed", { sid, subject, reason: "operator_disconnect" })
        yield* connection.link.close("disconnected by an operator")
        return {}
      })
      return recorded("disconnect", operator, { sid, ...definedOnly({ line, office, role, name }) }, disconnecting)
    },
    Drain: ({ node }, operator) => {
      const draining = Effect.suspend(() => {
        if (node !== registry.node) return notFound(`This Server is not the node '${node}'`)
        readiness.setState({ _tag: "Draining", reason: "an operator drains the Server" })
        return Effect.succeed({})
      })
      return recorded("drain", operator, { node }, draining)
    },
    CancelCall: ({ id }, operator) => {
      const found = findRunning(id)
      if (found === undefined)
        return recorded("cancel_call", operator, { call: id }, Effect.fail(notFound("The call does not run any more")))
      const { call, started } = found
      const { agent, computer, line, office, reqId, tool } = toPageCall(started, registry.node)
      const target = { call: id, line, office, agent, computer, req_id: reqId, ...definedOnly({ tool }) }
      const definition = servedLines.find(({ name }) => name === line)?.findEventDefinition(started.event)
      const isCancellable = definition?.kind === "call" && definition.cancellable
      const cancelling = cancelInFlight(call, publicMembership(started.agent).name, isCancellable)
      return Effect.as(recorded("cancel_call", operator, target, cancelling), {})
    },
    GetCallBody: ({ id }) => {
      const body = bodies?.get(id)
      return body === undefined
        ? Effect.fail(notFound("The arguments and the result of this call are not captured"))
        : Effect.succeed(body)
    },
    ...makeComputerHandlers(server, { documents, recorded })
  })
})
