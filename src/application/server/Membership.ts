import { Context, Duration, Effect, FiberSet, Layer, type Option, Semaphore } from "effect"
import type { Command, Member, OfficeRefusal, Seat, Session } from "../../domain/office/membership.ts"
import { computerNotFound, notInOffice } from "../../domain/refusal.ts"
import { type Change, OfficeRegistry, type RegistryState } from "../ports/OfficeRegistry.ts"
import { Cancellation } from "./Cancellation.ts"
import { chargeFor, Connections } from "./Connections.ts"
import { EntryObservers } from "./EntryObservers.ts"
import { Limits } from "./Limits.ts"
import { Nodes } from "./Nodes.ts"
import { Notifications } from "./Notifications.ts"

/**
 * How long the calls to a member of another node may still end by themselves when it has left: that news overtakes
 * answers, which come another way, and its node ends the rest.
 */
const answersUnderWay = Duration.seconds(1)

/** Who sits in which office. Every change is told to the members of this node whom it concerns. */
export class Membership extends Context.Service<
  Membership,
  {
    /** The name of this node in its cluster. */
    readonly node: string
    /** Applies a command of a session of this node; when it returns its changes have been told here. */
    readonly apply: (command: Command) => Effect.Effect<void, OfficeRefusal>
    /** A session of this node. */
    readonly session: (sid: string) => Option.Option<Session>
    /** A Computer in an office in which this node has members, on whatever node it is. */
    readonly computerIn: (office: string, name: string) => Option.Option<Member>
    /** Does a Computer of this name sit in an office other than this one? May ask the other nodes' registry. */
    readonly computerElsewhere: (office: string, name: string) => Effect.Effect<boolean>
    /** Everybody in an office, the Agent first. */
    readonly list: (office: string) => ReadonlyArray<Member>
    /** Everybody in an office but one, on whatever node they are. */
    readonly others: (office: string, sid: string) => ReadonlyArray<Member>
    readonly state: () => RegistryState
  }
>()("a2c-smcp/application/server/Membership") {
  static readonly layer = Layer.effect(
    Membership,
    Effect.gen(function* () {
      const registry = yield* OfficeRegistry
      const notifications = yield* Notifications
      const cancellation = yield* Cancellation
      const connections = yield* Connections
      const capacity = yield* Limits
      const observers = yield* EntryObservers
      const nodes = yield* Nodes
      const run = yield* FiberSet.makeRuntime<never>()
      const turn = yield* Semaphore.make(1)
      // Emptied as fast as it fills: telling never waits for a member.
      const untold: Array<Change> = []

      /** Closing a connection ends in a command of its own, so nobody here may wait for it. */
      const close = (sid: string, reason: string) =>
        Effect.andThen(
          Effect.logInfo("member put out", { sid, reason }),
          Effect.sync(() => void run(connections.get(sid)?.link.close(reason) ?? Effect.void))
        )

      const nodeGone = (node: string) =>
        Effect.andThen(
          Effect.logWarning("node gone", { node }),
          Effect.sync(() => nodes.lost(node))
        )

      /** Nobody waits any more for a member that has left. */
      const endCalls = (sid: string, { name, office, role }: Seat, isOwn: boolean) => {
        const flights = cancellation.of(sid, office)
        const reason = role === "agent" ? notInOffice() : computerNotFound(name)
        const end = Effect.sync(() => {
          for (const flight of flights) flight.end(reason)
        })
        if (isOwn) nodes.left(sid, office, reason)
        return isOwn || flights.length === 0
          ? end
          : Effect.sync(() => void run(Effect.delay(end, answersUnderWay)))
      }

      const announce = Effect.fnUntraced(
        function* (change: Change) {
          if (change._tag === "NodeGone") return yield* nodeGone(change.node)
          if (change._tag === "Evicted") return yield* close(change.sid, change.reason)
          const { _tag, recipients, seat, sid } = change
          const connection = connections.get(sid)
          if (connection !== undefined) {
            chargeFor(connection, recipients.length)
            const { subject } = connection.identity
            for (const observe of observers) observe({ _tag, sid, seat, subject })
          }
          if (_tag === "Left") {
            yield* endCalls(sid, seat, connection !== undefined)
            // Nobody takes what it was not told about one office into the next.
            if (connection !== undefined) yield* notifications.catchUp(connection)
          }
          yield* notifications.tell(recipients, { _tag, seat })
        },
        Effect.catchCause((cause) => Effect.logError("a change of an office was not told", cause))
      )

      /** Tells what is untold, in order: one change reaches everybody before the next begins. */
      const tellAll = turn.withPermit(
        Effect.whileLoop({
          while: () => untold.length > 0,
          body: () => Effect.forEach(untold.splice(0), announce, { discard: true }),
          step: () => undefined
        })
      )

      const soon = (task: () => void) => void Promise.resolve().then(task)
      const tellRest = () => {
        if (untold.length > 0) run(tellAll)
      }

      yield* registry.follow((change) => {
        // Whoever applied a command tells what came of it; others' changes are told by whoever is first.
        if (untold.push(change) === 1) soon(tellRest)
      })

      const apply = Effect.fnUntraced(function* (command: Command) {
        yield* registry.apply(command, capacity)
        yield* tellAll
      }, Effect.uninterruptible)

      return Membership.of({
        node: registry.node,
        apply,
        session: registry.session,
        computerIn: registry.computerIn,
        computerElsewhere: registry.computerElsewhere,
        list: registry.members,
        others: (office, sid) => registry.members(office).filter((member) => member.sid !== sid),
        state: registry.state
      })
    })
  )
}
