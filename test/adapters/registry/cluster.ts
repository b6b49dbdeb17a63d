import { Context, Duration, Effect, Layer, Option, Redacted, Result, Schedule, type Scope } from "effect"
import * as MemoryRegistry from "../../../src/adapters/memory/MemoryOfficeRegistry.ts"
import type * as RedisRegistry from "../../../src/adapters/redis/registry/RedisRegistry.ts"
import {
  type Registration,
  type RegistryChange,
  OfficeRegistry
} from "../../../src/application/ports/OfficeRegistry.ts"
import { toPrimary, toWorker } from "../../../src/adapters/workers/workerMessages.ts"
import { makeCommandSequencer, makeWorkerRegistry } from "../../../src/adapters/workers/WorkerCluster.ts"
import {
  type JoinTerms,
  type MembershipCommand,
  type Capacity,
  unlimitedCapacity
} from "../../../src/domain/office/decideMembership.ts"
import type { MembershipError, Session } from "../../../src/domain/model/Membership.ts"
import { redisRegistry } from "../../fixtures/redisRegistry.ts"

/** A node of a registry, with the changes that it received. */
export interface TestNode {
  readonly registry: OfficeRegistry["Service"]
  /** Received changes, except those in `alone`. */
  readonly received: ReadonlyArray<RegistryChange>
  /** Joins without recipients. */
  readonly alone: ReadonlyArray<RegistryChange>
  /** Waits until a condition holds; checks it after every change. */
  readonly until: (wanted: () => boolean) => Effect.Effect<void>
  /** A connected session of this node. */
  readonly session: (sid: string) => Session | undefined
  /** Applies any command of a session of this node. */
  readonly apply: (command: MembershipCommand, capacity?: Capacity) => Effect.Effect<void, MembershipError>
  readonly connect: (sid: string, reconnectKey?: string, subject?: string) => Effect.Effect<void>
  readonly join: (
    sid: string,
    role: "agent" | "computer",
    name: string,
    office: string,
    capacity?: Capacity,
    terms?: JoinTerms
  ) => Effect.Effect<void, MembershipError>
  readonly leave: (sid: string, office: string) => Effect.Effect<void, MembershipError>
  readonly disconnect: (sid: string) => Effect.Effect<void>
}

/** Opens a node for as long as the scope. */
export type OpenNode = (name: string) => Effect.Effect<TestNode, never, Scope.Scope>

/** Applies any command to a registry, and keeps the sessions that it connects. */
export const commandsOf = (registry: OfficeRegistry["Service"]): Pick<TestNode, "apply" | "session"> => {
  const registrations = new Map<string, Registration>()
  return {
    session: (sid) => registrations.get(sid)?.session,
    apply: (command, capacity = unlimitedCapacity) => {
      if (command._tag === "Connect") {
        return Effect.map(registry.connect(command), (registration) => {
          registrations.set(command.sid, registration)
        })
      }
      if (command._tag !== "Disconnect") return registry.apply(command, capacity)
      return Effect.andThen(
        registry.disconnect(command.sid),
        Effect.sync(() => void registrations.delete(command.sid))
      )
    }
  }
}

/** A node on any registry. */
const openNode = (layer: Layer.Layer<OfficeRegistry, unknown>) =>
  Effect.gen(function* (): Effect.fn.Return<TestNode, never, Scope.Scope> {
    const registry = Context.get(yield* Effect.orDie(Layer.build(Layer.fresh(layer))), OfficeRegistry)
    const received: Array<RegistryChange> = []
    const alone: Array<RegistryChange> = []
    const looking = new Set<() => void>()
    yield* registry.subscribe((change) => {
      const isAlone = change._tag === "Entered" && change.recipients.length === 0
      if (isAlone) alone.push(change)
      else received.push(change)
      // In a microtask: the registry is still applying the change.
      queueMicrotask(() => {
        for (const look of looking) look()
      })
    })
    const { node } = registry
    const commands = commandsOf(registry)
    const { apply } = commands
    return {
      registry,
      ...commands,
      received,
      alone,
      until: (wanted) =>
        Effect.callback<void>((resume) => {
          const look = () => {
            if (wanted()) resume(Effect.void)
          }
          looking.add(look)
          look()
          return Effect.sync(() => void looking.delete(look))
        }),
      connect: (sid, reconnectKey = "", subject = "") =>
        Effect.orDie(
          apply({ _tag: "Connect", sid, node, version: "0.2.0", role: Option.none(), reconnectKey, subject })
        ),
      join: (sid, role, name, office, capacity, terms = {}) =>
        apply({ _tag: "Join", sid, role, name, office, ...terms }, capacity),
      leave: (sid, office) => apply({ _tag: "Leave", sid, office }),
      disconnect: (sid) => Effect.orDie(apply({ _tag: "Disconnect", sid }))
    }
  })

/** Nodes that share the memory of this process. */
export const memoryNodes = (): OpenNode => {
  const cluster = MemoryRegistry.makeOffices()
  return (name) => openNode(MemoryRegistry.layer(cluster, name))
}

/** Workers of one command: each message takes a turn of the event loop. */
export const workerNodes = (): OpenNode => {
  const sequencer = makeCommandSequencer()
  const deliver = <A>(
    message: A,
    { decode, encode }: { decode: (json: unknown) => A; encode: (message: A) => unknown },
    to: (message: A) => void
  ) => {
    const sent = JSON.stringify(encode(message))
    setImmediate(() => to(decode(JSON.parse(sent))))
  }
  const open = (name: string) => {
    const { onMessage, registry } = makeWorkerRegistry(name, (message) =>
      deliver(message, toPrimary, (arrived) => {
        if (arrived._tag === "Commands") sequencer.submit(arrived)
      })
    )
    sequencer.add(name, (message) => deliver(message, toWorker, onMessage))
    return registry
  }
  return (name) =>
    openNode(
      Layer.effect(
        OfficeRegistry,
        Effect.acquireRelease(
          Effect.sync(() => open(name)),
          () => Effect.sync(() => sequencer.remove(name))
        )
      )
    )
}

/** Nodes that share a Redis. */
export const redisNodes =
  (
    url: string,
    prefix = `{${crypto.randomUUID()}}:`,
    options: Partial<RedisRegistry.RedisRegistryOptions> = { gracePeriod: Duration.zero }
  ): OpenNode =>
  (name) =>
    openNode(redisRegistry({ url: Redacted.make(url), prefix, node: name, ...options }))

/** The outcome of a command: "ok" or the reason of its rejection. */
export const outcome = (effect: Effect.Effect<void, MembershipError>) =>
  Effect.map(Effect.result(effect), Result.match({ onFailure: ({ reason }) => reason, onSuccess: () => "ok" }))

/** Repeats a command, as a member does, while the registry is away or too busy to answer in time. */
export const answered = (command: Effect.Effect<void, MembershipError>) =>
  Effect.retry(command, {
    schedule: Schedule.spaced("20 millis"),
    while: ({ reason }) => reason === "unavailable"
  })

/** Nodes whose joins are repeated while Redis is too busy to answer in time. */
export const withRetries =
  (open: OpenNode): OpenNode =>
  (name) =>
    Effect.map(open(name), (node) => ({ ...node, join: (...join) => answered(node.join(...join)) }))

/** The received changes in short form, with their recipients. */
export const notified = ({ received }: TestNode): ReadonlyArray<string> =>
  received.map((change) => {
    if (change._tag === "NodeLost") return `gone ${change.node}`
    if (change._tag === "Evicted") return `evicted ${change.sid}`
    const { _tag, recipients, membership, sid } = change
    return `${_tag === "Entered" ? "+" : "-"}${sid} ${membership.name}@${membership.office} → ${recipients.toSorted().join(",")}`
  })
