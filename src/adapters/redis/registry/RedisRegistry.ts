import { randomUUID } from "node:crypto"
import { Duration, Effect, FiberSet, Layer, Option, Queue, type Redacted, Semaphore } from "effect"
import { type Capacity, checkLeave } from "../../../domain/office/membership.ts"
import { type MembershipError, notConnected } from "../../../domain/model/Membership.ts"
import {
  type OfficeCommand,
  type RegistryChange,
  OfficeRegistry
} from "../../../application/ports/OfficeRegistry.ts"
import { makeRegistryScripts } from "./RegistryScripts.ts"
import { makeJoinOffice } from "./joinOffice.ts"
import { LocalOffices } from "./LocalOffices.ts"
import { type RegistryEvents, makeRegistryEvents } from "./RegistryEvents.ts"
import { heartbeatInterval, makeLeaseRecovery } from "./LeaseRecovery.ts"
import { makeScriptRunner, type RedisUrlInvalid, scriptTimeout } from "./ScriptRunner.ts"
import { SyncState } from "./SyncState.ts"

/** What may be set about a registry in Redis. */
export interface RedisRegistryOptions {
  /** `redis://` or `rediss://`; it may hold a password. */
  readonly url: Redacted.Redacted<string>
  /** What all keys begin with; clusters with different ones know nothing of each other. Braces keep them in one slot. */
  readonly prefix?: string
  /** The name of this node, unique for every start; a random one unless given. */
  readonly node?: string
  /**
   * How long nobody can join a registry that has just begun, so that the members of all nodes come back before
   * newcomers when Redis has lost its data.
   */
  readonly gracePeriod?: Duration.Duration
}

/** A registry that all nodes with the same Redis and prefix share. Redis need not be there when it starts. */
export const layer = (options: RedisRegistryOptions): Layer.Layer<OfficeRegistry, RedisUrlInvalid> =>
  Layer.effect(OfficeRegistry, make(options))

const make = Effect.fnUntraced(function* ({
  node = randomUUID(),
  prefix = "{a2c}:",
  gracePeriod = Duration.seconds(1),
  url
}: RedisRegistryOptions) {
  const listeners = new Set<(change: RegistryChange) => void>()
  const emit = (change: RegistryChange) => {
    for (const listener of listeners) listener(change)
  }
  const run = yield* FiberSet.makeRuntime<never>()
  const wake = yield* Queue.sliding<void>(1)
  const local = new LocalOffices(node, emit)
  const sync = new SyncState(() => void Queue.offerUnsafe(wake, undefined))
  const runner = yield* makeScriptRunner({
    url,
    prefix,
    channel: `${prefix}to:${node}`,
    onReady: () => sync.markOutOfSync(),
    onMessage: (text) => events.onMessage(text)
  })
  const { isReady } = runner
  const scripts = makeRegistryScripts(node, runner)
  const events: RegistryEvents = makeRegistryEvents({ local, sync, scripts, emit, run })
  const recovery = makeLeaseRecovery({ node, local, sync, scripts, events, gracePeriod })
  const joinOffice = makeJoinOffice({ local, sync, scripts, events, isReady, gracePeriod })
  const locks = new Map<string, Semaphore.Semaphore>()

  /** Gives up whatever seat a session has: here at once, in Redis as soon as it answers. */
  const leaveOffice = (sid: string) =>
    Effect.suspend(() => {
      local.leave(sid)
      return Effect.ignore(sync.outOfSyncOnError(scripts.leave(sid)))
    })

  /** Runs the joins, leaves and disconnect of one session one after the other. */
  const serialized = <E>(sid: string, effect: Effect.Effect<void, E>): Effect.Effect<void, E> =>
    Effect.suspend(() => locks.get(sid)?.withPermit(effect) ?? effect)

  const applyCommand = (command: OfficeCommand, capacity: Capacity): Effect.Effect<void, MembershipError> => {
    const session = local.session(command.sid)
    if (session === undefined) return Effect.fail(notConnected())
    if (command._tag === "Leave") {
      return Effect.flatMap(Effect.fromResult(checkLeave(session, command.office)), () =>
        leaveOffice(command.sid)
      )
    }
    const { name, office, role } = command
    return joinOffice(session, { office, role, name }, capacity)
  }

  const removeSession = (sid: string) =>
    Effect.suspend(() => {
      const removed = Effect.sync(() => {
        local.disconnect(sid)
        locks.delete(sid)
      })
      const isMember = Option.isSome(local.session(sid)?.membership ?? Option.none())
      return isMember ? Effect.ensuring(leaveOffice(sid), removed) : removed
    })

  // A clean end tells the others at once; when Redis is away, the lease does.
  yield* Effect.addFinalizer(() => Effect.ignore(scripts.leaveCluster))

  yield* Effect.timeoutOption(Queue.take(wake), scriptTimeout)
  if (!isReady())
    yield* Effect.logWarning("Redis cannot be reached yet: nobody can join until it can", { node })
  const heartbeat = Effect.suspend(() => (isReady() ? recovery.heartbeat : Effect.void))
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(heartbeat, Effect.timeoutOption(Queue.take(wake), heartbeatInterval)))
  )

  return OfficeRegistry.of({
    node,
    connect: (session) =>
      Effect.sync(() => {
        locks.set(session.sid, Semaphore.makeUnsafe(1))
        return local.connect({ ...session, node, membership: Option.none() })
      }),
    disconnect: (sid) => serialized(sid, removeSession(sid)),
    apply: (command, capacity) =>
      serialized(
        command.sid,
        Effect.suspend(() => applyCommand(command, capacity))
      ),
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
    state: () => ({ available: isReady() && sync.isInSync, nodes: recovery.nodeCount(), ...local.counts() })
  })
})
