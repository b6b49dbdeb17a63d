import { Duration, Effect, FiberSet, Option, Queue, Semaphore, Deferred, Exit } from "effect"
import { type RegistryContext, type RegistryEvents, makeRegistryEvents, makeSyncState } from "./RegistryEvents.ts"
import type { SessionId, OfficeKey } from "../../../domain/model/ids.ts"
import { checkLeave, type Capacity, checkJoin, type JoinTerms } from "../../../domain/office/decideMembership.ts"
import {
  type MembershipError,
  notConnected,
  makeMembershipError,
  officeFull,
  registryUnavailable,
  type Membership,
  type Session,
  tooManyOffices
} from "../../../domain/model/Membership.ts"
import {
  type NewSession,
  type OfficeCommand,
  type RegistryChange,
  OfficeRegistry
} from "../../../application/ports/OfficeRegistry.ts"
import { needsReconnect, type RedisNodeOptions } from "../redisClient.ts"
import { makeRegistryScripts, type RegistryCallError } from "./RegistryScripts.ts"
import { LocalOffices } from "./LocalOffices.ts"
import { makeScriptRunner, type ScriptRunner, scriptTimeout } from "./ScriptRunner.ts"
import { membershipConflict } from "../../../domain/office/membershipConflict.ts"

/** How long a join waits for its echo on the channel before it reads a snapshot. */
const echoTimeout = Duration.millis(500)

const maxJoinAttempts = 4

const malformedName = makeMembershipError("malformed", "The names of members and offices must be well-formed Unicode")

/** Makes the join of a session. When it returns, the join has been emitted to this node. */
export const makeJoinOffice = (
  { gracePeriod, isReady, local, scripts, sync }: RegistryContext,
  events: RegistryEvents
) => {
  const isJoined = (sid: SessionId, office: OfficeKey): boolean =>
    Option.exists(local.membership(sid), (membership) => membership.office === office)

  /** Waits for the echo of a join on the channel: it keeps the order of changes. */
  const awaitJoinEcho = Effect.fnUntraced(function* (
    sid: SessionId,
    office: OfficeKey,
    onEntered: Deferred.Deferred<void>
  ) {
    if (isJoined(sid, office)) return
    const echoed = yield* Effect.timeoutOption(Deferred.await(onEntered), echoTimeout)
    // The session may have lost its membership again.
    if (Option.isSome(echoed) || isJoined(sid, office)) return
    yield* Effect.ignore(events.refresh(office))
    if (isJoined(sid, office)) return
    sync.markOutOfSync()
    return yield* registryUnavailable()
  })

  const attemptJoin = Effect.fnUntraced(function* (membership: Membership, runJoin: ReturnType<typeof scripts.join>) {
    for (let attempt = 0; attempt < maxJoinAttempts; attempt++) {
      if (!isReady()) return yield* registryUnavailable()
      const inSync = yield* Effect.timeoutOption(sync.awaitInSync, Duration.sum(scriptTimeout, gracePeriod))
      if (Option.isNone(inSync)) return yield* registryUnavailable()
      const outcome = yield* Effect.mapError(sync.outOfSyncOnError(runJoin), registryUnavailable)
      if (outcome === "joined") return
      if (Array.isArray(outcome)) {
        const [, name, joinedAt] = outcome
        return yield* membershipConflict(membership, { name, ...(joinedAt !== "" && { joinedAt: Number(joinedAt) }) })
      }
      if (outcome === "office_full") return yield* officeFull(membership.office)
      if (outcome === "too_many_offices") return yield* tooManyOffices()
      // An expired join that did not time out here: the clock of Redis was changed. Reconciling syncs it.
      sync.markOutOfSync()
    }
    return yield* registryUnavailable()
  })

  return Effect.fnUntraced(function* (session: Session, membership: Membership, terms: JoinTerms, capacity: Capacity) {
    const isNew = yield* Effect.fromResult(checkJoin(session, membership))
    // After a takeover that this node has not received yet, the session is evicted when it arrives.
    if (!isNew) return
    if (!membership.name.isWellFormed() || !membership.office.isWellFormed()) return yield* malformedName
    const onEntered = Deferred.makeUnsafe<void>()
    const endJoin = local.beginJoin(session.sid, membership.office, () => Deferred.doneUnsafe(onEntered, Exit.void))
    const reconcilesBefore = sync.reconcileCount()
    yield* attemptJoin(membership, scripts.join(session, membership, terms, capacity)).pipe(
      Effect.andThen(awaitJoinEcho(session.sid, membership.office, onEntered)),
      Effect.ensuring(Effect.sync(endJoin)),
      // A reconciliation during the join left out the current membership.
      Effect.tapError(() =>
        Effect.sync(() => {
          if (reconcilesBefore !== sync.reconcileCount() && Option.isSome(session.membership)) sync.markOutOfSync()
        })
      )
    )
  })
}

/** A node without renewal for this long is removed. With the heartbeat below, other nodes see that within 4 seconds. */
const lease = Duration.seconds(3)

const heartbeatMillis = 700

const maxConcurrentReads = 32

/** Keeps a node in the cluster and restores its members after an outage. The caller repeats the heartbeat. */
export const makeLeaseRecovery = (
  { gracePeriod, local, node, scripts, sync }: RegistryContext,
  events: RegistryEvents
) => {
  let nodes: ReadonlyArray<string> = [node]

  const renew = Effect.gen(function* () {
    const [state, current] = yield* sync.outOfSyncOnError(scripts.renew(lease))
    if (state === "ok") nodes = current
    else {
      yield* Effect.logWarning("node lease expired", { node })
      sync.markOutOfSync()
    }
  })

  /** Writes the members of this node to Redis, waits for the other nodes to do so, then reads all offices. */
  const reconcile = Effect.gen(function* () {
    sync.startReconciling()
    const [remainingMillis, current, losers] = yield* scripts.reconcile(lease, gracePeriod, local)
    nodes = current
    for (const sid of losers) local.evict(sid)
    for (let left = remainingMillis; left > 0; left -= heartbeatMillis) {
      yield* Effect.sleep(Math.min(left, heartbeatMillis))
      yield* renew
    }
    sync.stopReconciling()
    yield* Effect.forEach(local.offices(), events.refresh, { concurrency: maxConcurrentReads, discard: true })
    if (sync.tryMarkInSync()) yield* Effect.logDebug("office registry in sync", { node, nodes: nodes.length })
  }).pipe(sync.outOfSyncOnError, Effect.ensuring(Effect.sync(sync.stopReconciling)))

  return {
    /** Renews the lease, or reconciles when out of sync. */
    heartbeat: Effect.suspend(() => (sync.needsReconcile() ? reconcile : renew)),
    /** The nodes of the cluster as last reported, with this one. */
    nodes: () => nodes
  }
}

export interface RedisRegistryOptions extends RedisNodeOptions {
  /**
   * How long joins wait after the registry has lost its data, or is new: a second unless given. The members of all
   * nodes are restored before new ones join.
   */
  readonly gracePeriod?: Duration.Duration
  /** Where the other nodes reach this one; announced to them. */
  readonly address?: string
}

/** Milliseconds between heartbeats that fail; each doubles the last. */
const minBackoffMillis = 50
const maxBackoffMillis = 1000

export type RedisRegistry = Effect.Success<ReturnType<typeof make>>

/** Makes the functions that change the sessions of this node: the changes of one session run one after the other. */
const makeSessionChanges = (context: RegistryContext, events: RegistryEvents) => {
  const { local, node, scripts, sync } = context
  const joinOffice = makeJoinOffice(context, events)
  const locks = new Map<string, Semaphore.Semaphore>()

  /** Removes the membership of a session: locally at once, then in Redis. */
  const leaveOffice = (sid: SessionId) =>
    Effect.suspend(() => {
      local.leave(sid)
      return Effect.ignore(sync.outOfSyncOnError(scripts.leave(sid)))
    })

  const serialized = <E>(sid: SessionId, effect: () => Effect.Effect<void, E>): Effect.Effect<void, E> =>
    Effect.suspend(() => locks.get(sid)?.withPermit(Effect.suspend(effect)) ?? effect())

  const applyCommand = (command: OfficeCommand, capacity: Capacity): Effect.Effect<void, MembershipError> => {
    const session = local.session(command.sid)
    if (session === undefined) return Effect.fail(notConnected())
    if (command._tag === "Leave") {
      return Effect.flatMap(Effect.fromResult(checkLeave(session, command.office)), () => leaveOffice(command.sid))
    }
    const { name, office, role } = command
    return joinOffice(session, { office, role, name }, command, capacity)
  }

  const removeSession = (sid: SessionId) => {
    const removed = Effect.sync(() => {
      local.disconnect(sid)
      locks.delete(sid)
    })
    return Option.isSome(local.membership(sid)) ? Effect.ensuring(leaveOffice(sid), removed) : removed
  }

  return {
    connect: (session: NewSession) =>
      Effect.sync(() => {
        locks.set(session.sid, Semaphore.makeUnsafe(1))
        return local.connect({ ...session, node, membership: Option.none() })
      }),
    disconnect: (sid: SessionId) => serialized(sid, () => removeSession(sid)),
    apply: (command: OfficeCommand, capacity: Capacity) =>
      serialized(command.sid, () => applyCommand(command, capacity))
  }
}

/** Renews the lease of this node, or restores its members, until the scope closes: when `wake` asks for it, and regularly. */
const startHeartbeats = (
  { isReady, sync }: RegistryContext,
  heartbeat: Effect.Effect<void, RegistryCallError>,
  { onRecovered, reconnect }: ScriptRunner,
  wake: Queue.Dequeue<void>
) => {
  let backoffMillis = minBackoffMillis
  const beat = Effect.map(heartbeat, () => {
    backoffMillis = minBackoffMillis
    if (sync.isInSync()) onRecovered()
  })
  /** Waits for longer after each failure. Requests to reconcile do not shorten it: members cause them. */
  const backOff = ({ message }: { readonly message: string }) =>
    Effect.suspend(() => {
      if (needsReconnect(message)) reconnect()
      const delay = backoffMillis
      backoffMillis = Math.min(maxBackoffMillis, 2 * delay)
      return Effect.sleep(delay)
    })
  const awaitNext = Effect.timeoutOption(Queue.take(wake), heartbeatMillis)
  return Effect.suspend(() =>
    isReady() ? Effect.matchEffect(beat, { onFailure: backOff, onSuccess: () => awaitNext }) : awaitNext
  ).pipe(Effect.forever, Effect.forkScoped)
}

/**
 * Makes a registry that all nodes with the same Redis and prefix share, and reads the addresses that the others announce.
 * Redis may be unreachable at the start.
 */
export const make = Effect.fnUntraced(function* (options: RedisRegistryOptions) {
  const { address = "", gracePeriod = Duration.seconds(1), node } = options
  const listeners = new Set<(change: RegistryChange) => void>()
  const emit = (change: RegistryChange) => {
    for (const listener of listeners) listener(change)
  }
  const run = yield* FiberSet.makeRuntime<never>()
  const wake = yield* Queue.sliding<void>(1)
  const local = new LocalOffices(node, emit)
  const sync = makeSyncState(() => void Queue.offerUnsafe(wake, undefined))
  const runner = yield* makeScriptRunner({
    ...options,
    onReady: sync.markOutOfSync,
    onMessage: (text) => events.onMessage(text)
  })
  const { isReady } = runner
  const scripts = makeRegistryScripts(node, address, runner)
  const context: RegistryContext = { node, gracePeriod, local, sync, scripts, isReady, emit, run }
  const events: RegistryEvents = makeRegistryEvents(context)
  const recovery = makeLeaseRecovery(context, events)

  // Without Redis, the other nodes remove this node when its lease expires.
  yield* Effect.addFinalizer(() => Effect.ignore(scripts.leaveCluster))

  yield* Effect.timeoutOption(Queue.take(wake), scriptTimeout)
  if (!isReady()) yield* Effect.logWarning("Redis unreachable: joins fail until it connects", { node })
  yield* startHeartbeats(context, recovery.heartbeat, runner, wake)

  const registry = OfficeRegistry.of({
    node,
    ...makeSessionChanges(context, events),
    subscribe: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => void listeners.add(listener)),
        () => Effect.sync(() => void listeners.delete(listener))
      ),
    findComputer: (office, name) => local.findComputer(office, name),
    members: (office) => local.members(office),
    isComputerElsewhere: (office, name) =>
      Effect.matchEager(scripts.isComputerElsewhere(office, name), {
        onSuccess: (found) => found,
        onFailure: () =>
          local.offices().some((other) => other !== office && Option.isSome(local.findComputer(other, name)))
      }),
    areInUse: (offices) =>
      offices.length === 0 ? Effect.succeed([]) : Effect.orElseSucceed(scripts.areInUse(offices), () => []),
    state: () => ({ available: isReady() && sync.isInSync(), nodes: recovery.nodes(), ...local.counts() })
  })
  return { registry, addressOf: scripts.addressOf }
})
