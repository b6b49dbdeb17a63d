import { Context, Duration, Effect, Layer, Option, Redacted, Result, type Scope } from "effect"
import * as MemoryRegistry from "../../../src/adapters/memory/MemoryOfficeRegistry.ts"
import * as RedisRegistry from "../../../src/adapters/redis/registry/RedisRegistry.ts"
import { type RegistryChange, OfficeRegistry } from "../../../src/application/ports/OfficeRegistry.ts"
import type { Capacity } from "../../../src/domain/office/MembershipState.ts"
import type { MembershipError } from "../../../src/domain/model/Membership.ts"

/** One Server's end of a registry, with what it has heard. */
export interface TestNode {
  readonly registry: OfficeRegistry["Service"]
  /** What it has heard, but for what is in `alone`. */
  readonly heard: ReadonlyArray<RegistryChange>
  /** Entries of its own sessions that no other session was to hear. */
  readonly alone: ReadonlyArray<RegistryChange>
  /** Waits until what was heard, or anything else that changes with it, is as wanted. */
  readonly until: (wanted: () => boolean) => Effect.Effect<void>
  readonly connect: (sid: string, reconnectKey?: string) => Effect.Effect<void>
  readonly join: (
    sid: string,
    role: "agent" | "computer",
    name: string,
    office: string,
    capacity?: Capacity
  ) => Effect.Effect<void, MembershipError>
  readonly leave: (sid: string, office: string) => Effect.Effect<void, MembershipError>
  readonly disconnect: (sid: string) => Effect.Effect<void>
}

/** Opens a node for as long as the scope. */
export type OpenNode = (name: string) => Effect.Effect<TestNode, never, Scope.Scope>

/** A node on any registry. */
const openNode = (layer: Layer.Layer<OfficeRegistry, unknown>) =>
  Effect.gen(function* (): Effect.fn.Return<TestNode, never, Scope.Scope> {
    const registry = Context.get(yield* Effect.orDie(Layer.build(Layer.fresh(layer))), OfficeRegistry)
    const heard: Array<RegistryChange> = []
    const alone: Array<RegistryChange> = []
    const looking = new Set<() => void>()
    yield* registry.subscribe((change) => {
      const isAlone = change._tag === "Entered" && change.recipients.length === 0
      if (isAlone) alone.push(change)
      else heard.push(change)
      // The registry has not finished with it: look when it has.
      queueMicrotask(() => {
        for (const look of looking) look()
      })
    })
    const { node } = registry
    return {
      registry,
      heard,
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
      connect: (sid, reconnectKey = "") =>
        Effect.orDie(
          registry.apply({ _tag: "Connect", sid, node, version: "0.2.0", role: Option.none(), reconnectKey })
        ),
      join: (sid, role, name, office, capacity) =>
        registry.apply({ _tag: "Join", sid, role, name, office }, capacity),
      leave: (sid, office) => registry.apply({ _tag: "Leave", sid, office }),
      disconnect: (sid) => Effect.orDie(registry.apply({ _tag: "Disconnect", sid }))
    }
  })

/** Nodes that share the memory of this process. */
export const memoryNodes = (): OpenNode => {
  const cluster = MemoryRegistry.makeOffices()
  return (name) => openNode(MemoryRegistry.layer(cluster, name))
}

/** Nodes that share a Redis. */
export const redisNodes =
  (
    url: string,
    prefix = `{${crypto.randomUUID()}}:`,
    options: Partial<RedisRegistry.RedisRegistryOptions> = { gracePeriod: Duration.zero }
  ): OpenNode =>
  (name) =>
    openNode(RedisRegistry.layer({ url: Redacted.make(url), prefix, node: name, ...options }))

/** What became of a command, in a word. */
export const outcome = (effect: Effect.Effect<void, MembershipError>) =>
  Effect.map(
    Effect.result(effect),
    Result.match({ onFailure: ({ reason }) => reason, onSuccess: () => "ok" })
  )

/** Everything heard of an office, shortened: who came or went, and who is to hear it. */
export const told = ({ heard }: TestNode): ReadonlyArray<string> =>
  heard.map((change) => {
    if (change._tag === "NodeGone") return `gone ${change.node}`
    if (change._tag === "Evicted") return `evicted ${change.sid}`
    const { _tag, recipients, membership, sid } = change
    return `${_tag === "Entered" ? "+" : "-"}${sid} ${membership.name}@${membership.office} → ${recipients.toSorted().join(",")}`
  })
