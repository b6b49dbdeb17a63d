import { Duration, Effect, FiberSet, Semaphore } from "effect"
import { type Membership, type MembershipError, publicMembership } from "../../../domain/model/Membership.ts"
import { computerNotFound, notInOffice } from "../../../domain/model/ProtocolError.ts"
import { jsonBody } from "../../ports/Body.ts"
import { NodeLink } from "../nodes/NodeLink.ts"
import {
  type EvictionReason,
  type OfficeCommand,
  OfficeRegistry,
  type RegistryChange,
  takeoverReason
} from "../../ports/OfficeRegistry.ts"
import { chargeFanOut, type Connection, type Connections } from "../connections/Connections.ts"
import { abortCalls } from "../connections/InFlightCall.ts"
import type { InFlightCalls } from "../connections/InFlightCalls.ts"
import type { Notifications } from "./Notifications.ts"
import { Limits } from "../Limits.ts"
import { MembershipObservers } from "../observability/observers.ts"

/**
 * How long calls to a member of another node may still end by themselves after it has left. Registry changes and
 * replies travel separately, so a change may overtake replies. The member's own node aborts the rest.
 */
const remoteReplyGrace = Duration.seconds(1)

/**
 * Notifications that are sent before other work gets its turn. In a large office each join and leave is one for each
 * member: a program with a thousand connections that ends would hold up all calls, and its members leave in between.
 */
const notificationsPerTurn = 1000

/** Timeout of the notice to a replaced connection, which may be stale. */
const replacedNoticeTimeout = Duration.seconds(1)

/** Closes an evicted connection. A replaced one is notified first: its client must not rejoin. */
const closeEvicted = ({ line, link }: Connection, reason: EvictionReason) => {
  const { body, event } = line.encodeReplaced(reason)
  const notice = Effect.ignore(link.request(event, jsonBody(body), replacedNoticeTimeout))
  return reason === takeoverReason ? Effect.andThen(notice, link.close(reason)) : link.close(reason)
}

type MemberChange = Extract<RegistryChange, { readonly _tag: "Entered" | "Left" }>

interface MembershipParts {
  readonly connections: Connections
  readonly inFlightCalls: InFlightCalls
  readonly notifications: Notifications
}

/** Makes the function that announces a change: notifies members, aborts calls, evicts. */
const makeAnnounceChange = Effect.fnUntraced(function* ({
  connections,
  inFlightCalls,
  notifications
}: MembershipParts) {
  const membershipObservers = yield* MembershipObservers
  const nodeLink = yield* NodeLink
  const run = yield* FiberSet.makeRuntime<never>()

  const abortCallsOf = (connection: Connection | undefined, sid: string, { name, office, role }: Membership) => {
    const makeReason = () => (role === "agent" ? notInOffice() : computerNotFound(name))
    if (connection !== undefined) {
      abortCalls(connection.inboundCalls, office, makeReason)
      abortCalls(connection.calls, office, makeReason)
      return
    }
    const calls = [...inFlightCalls.toRemote(sid)]
    if (calls.length === 0) return
    run(Effect.map(Effect.sleep(remoteReplyGrace), () => abortCalls(calls, office, makeReason)))
  }

  const observe = ({ identity, line }: Connection, { _tag, membership, sid }: MemberChange) => {
    const { subject } = identity
    const shown = publicMembership(membership)
    for (const observe of membershipObservers) observe({ _tag, sid, membership: shown, line: line.name, subject })
    const { name, office, role } = shown
    const fields = { sid, office, line: line.name, role, name }
    return _tag === "Entered" ? Effect.logInfo("joined", fields) : Effect.logInfo("left", fields)
  }

  return (change: RegistryChange): Effect.Effect<void> => {
    if (change._tag === "NodeLost") {
      nodeLink.onNodeLost(change.node)
      return Effect.logWarning("node lost", { node: change.node })
    }
    const { sid } = change
    const connection = connections.get(sid)
    if (change._tag === "Evicted") {
      const { reason } = change
      // In the background: closing a connection disconnects its session, which announces changes itself.
      if (connection !== undefined) run(closeEvicted(connection, reason))
      return Effect.logInfo("session evicted", { sid, reason })
    }
    const { _tag, membership, recipients } = change
    const logged = connection === undefined ? Effect.void : observe(connection, change)
    if (connection !== undefined) chargeFanOut(connection, recipients.length)
    if (_tag === "Left") {
      abortCallsOf(connection, sid, membership)
      // Deferred notifications of one office must reach the client before those of the next.
      if (connection !== undefined) notifications.flush(connection)
    }
    notifications.notify(recipients, { _tag, membership })
    return logged
  }
})

export type MembershipCoordinator = Effect.Success<ReturnType<typeof makeMembershipCoordinator>>

/** Applies membership changes, and announces those of the whole cluster. */
export const makeMembershipCoordinator = Effect.fnUntraced(function* (parts: MembershipParts) {
  const { connections } = parts
  const capacity = yield* Limits
  const announceChange = yield* makeAnnounceChange(parts)
  const registry = yield* OfficeRegistry
  const run = yield* FiberSet.makeRuntime<never>()
  const announceLock = yield* Semaphore.make(1)
  // Needs no bound: announcing never waits for a client.
  const pendingChanges: Array<RegistryChange> = []

  /** Announces the pending changes in order, each one to all of its recipients before the next. */
  const announcePending = announceLock.withPermit(
    Effect.gen(function* () {
      let sent = 0
      while (pendingChanges.length > 0) {
        if (sent >= notificationsPerTurn) {
          sent = 0
          yield* Effect.yieldNow
        }
        const change = pendingChanges.shift()
        if (change === undefined) return
        if ("recipients" in change) sent += change.recipients.length
        yield* Effect.catchCause(
          Effect.suspend(() => announceChange(change)),
          (cause) => Effect.logError("membership notification failed", cause)
        )
      }
    })
  )

  /** In the next turn of the event loop: members that leave together need no notification of each other. */
  const announceLater = Effect.andThen(Effect.yieldNow, announcePending)

  const disconnect = (sid: string) =>
    Effect.suspend(() => {
      const connection = connections.get(sid)
      if (connection !== undefined) connection.closing = true
      return Effect.andThen(registry.disconnect(sid), announceLater)
    })

  yield* registry.subscribe((change) => {
    // The fiber that applied a command announces its changes; the next turn announces those of other nodes.
    if (pendingChanges.push(change) > 1) return
    void Promise.resolve().then(() => {
      if (pendingChanges.length > 0) run(announceLater)
    })
  })

  return {
    /** Removes a session, if it is registered. */
    disconnect,
    /** Applies a join or leave. The members of this node have been notified when it returns. */
    apply: (command: OfficeCommand): Effect.Effect<void, MembershipError> =>
      Effect.uninterruptible(Effect.andThen(registry.apply(command, capacity), announcePending))
  }
})
