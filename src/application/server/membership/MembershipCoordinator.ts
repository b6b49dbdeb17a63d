import { Context, Duration, Effect, FiberSet, Layer, type Option, Semaphore } from "effect"
import type { MembershipCommand } from "../../../domain/office/decide.ts"
import type { Member, MembershipError, Membership, Session } from "../../../domain/model/Membership.ts"
import { computerNotFound, notInOffice } from "../../../domain/model/ProtocolError.ts"
import { type RegistryChange, OfficeRegistry, type RegistryState } from "../../ports/OfficeRegistry.ts"
import { InFlightCalls } from "../routing/InFlightCalls.ts"
import { chargeFanOut, Connections } from "../connections/Connections.ts"
import { MembershipObservers } from "../observability/MembershipObservers.ts"
import { Limits } from "../connections/Limits.ts"
import { ClusterNodes } from "../cluster/ClusterNodes.ts"
import { Notifications } from "./Notifications.ts"

/**
 * How long the calls to a member of another node may still end by themselves when it has left: that news overtakes
 * answers, which come another way, and its node ends the rest.
 */
const remoteReplyGrace = Duration.seconds(1)

/** Who sits in which office. Every change is told to the members of this node whom it concerns. */
export class MembershipCoordinator extends Context.Service<
  MembershipCoordinator,
  {
    /** The name of this node in its cluster. */
    readonly node: string
    /** Applies a command of a session of this node; when it returns its changes have been told here. */
    readonly apply: (command: MembershipCommand) => Effect.Effect<void, MembershipError>
    /** A session of this node. */
    readonly session: (sid: string) => Option.Option<Session>
    /** A Computer in an office in which this node has members, on whatever node it is. */
    readonly findComputer: (office: string, name: string) => Option.Option<Member>
    /** Does a Computer of this name sit in an office other than this one? May ask the other nodes' registry. */
    readonly isComputerElsewhere: (office: string, name: string) => Effect.Effect<boolean>
    /** Everybody in an office, the Agent first. */
    readonly members: (office: string) => ReadonlyArray<Member>
    /** Everybody in an office but one, on whatever node they are. */
    readonly otherMembers: (office: string, sid: string) => ReadonlyArray<Member>
    readonly registryState: () => RegistryState
  }
>()("a2c-smcp/application/server/Membership") {
  static readonly layer = Layer.effect(
    MembershipCoordinator,
    Effect.gen(function* () {
      const registry = yield* OfficeRegistry
      const notifications = yield* Notifications
      const inFlightCalls = yield* InFlightCalls
      const connections = yield* Connections
      const capacity = yield* Limits
      const observers = yield* MembershipObservers
      const nodes = yield* ClusterNodes
      const run = yield* FiberSet.makeRuntime<never>()
      const announceLock = yield* Semaphore.make(1)
      // Emptied as fast as it fills: telling never waits for a member.
      const pendingChanges: Array<RegistryChange> = []

      /** Closing a connection ends in a command of its own, so nobody here may wait for it. */
      const closeEvicted = (sid: string, reason: string) =>
        Effect.andThen(
          Effect.logInfo("member put out", { sid, reason }),
          Effect.sync(() => void run(connections.get(sid)?.link.close(reason) ?? Effect.void))
        )

      const onNodeGone = (node: string) =>
        Effect.andThen(
          Effect.logWarning("node gone", { node }),
          Effect.sync(() => nodes.onNodeLost(node))
        )

      /** Nobody waits any more for a member that has left. */
      const abortCalls = (sid: string, { name, office, role }: Membership, isOwn: boolean) => {
        const calls = inFlightCalls.inOffice(sid, office)
        const reason = role === "agent" ? notInOffice() : computerNotFound(name)
        const end = Effect.sync(() => {
          for (const call of calls) call.abort(reason)
        })
        if (isOwn) nodes.onMemberLeft(sid, office, reason)
        return isOwn || calls.length === 0
          ? end
          : Effect.sync(() => void run(Effect.delay(end, remoteReplyGrace)))
      }

      const announceChange = Effect.fnUntraced(
        function* (change: RegistryChange) {
          if (change._tag === "NodeGone") return yield* onNodeGone(change.node)
          if (change._tag === "Evicted") return yield* closeEvicted(change.sid, change.reason)
          const { _tag, recipients, membership, sid } = change
          const connection = connections.get(sid)
          if (connection !== undefined) {
            chargeFanOut(connection, recipients.length)
            const { subject } = connection.identity
            for (const observe of observers) observe({ _tag, sid, membership, subject })
          }
          if (_tag === "Left") {
            yield* abortCalls(sid, membership, connection !== undefined)
            // Nobody takes what it was not told about one office into the next.
            if (connection !== undefined) yield* notifications.flush(connection)
          }
          yield* notifications.notify(recipients, { _tag, membership })
        },
        Effect.catchCause((cause) => Effect.logError("a change of an office was not told", cause))
      )

      /** Tells what is untold, in order: one change reaches everybody before the next begins. */
      const announcePending = announceLock.withPermit(
        Effect.whileLoop({
          while: () => pendingChanges.length > 0,
          body: () => Effect.forEach(pendingChanges.splice(0), announceChange, { discard: true }),
          step: () => undefined
        })
      )

      const queueTask = (task: () => void) => void Promise.resolve().then(task)
      const announceRemaining = () => {
        if (pendingChanges.length > 0) run(announcePending)
      }

      yield* registry.subscribe((change) => {
        // Whoever applied a command tells what came of it; others' changes are told by whoever is first.
        if (pendingChanges.push(change) === 1) queueTask(announceRemaining)
      })

      const apply = Effect.fnUntraced(function* (command: MembershipCommand) {
        yield* registry.apply(command, capacity)
        yield* announcePending
      }, Effect.uninterruptible)

      return MembershipCoordinator.of({
        node: registry.node,
        apply,
        session: registry.session,
        findComputer: registry.findComputer,
        isComputerElsewhere: registry.isComputerElsewhere,
        members: registry.members,
        otherMembers: (office, sid) => registry.members(office).filter((member) => member.sid !== sid),
        registryState: registry.state
      })
    })
  )
}
