import { Duration, Effect, FiberSet, Option } from "effect"
import { makeJoinOffice, makeLeaseRecovery } from "../../../../src/adapters/redis/registry/RedisRegistry.ts"
import { LocalOffices } from "../../../../src/adapters/redis/registry/LocalOffices.ts"
import type { ScriptName } from "../../../../src/adapters/redis/registry/luaScripts.ts"
import { makeRegistryEvents, type RegistryContext } from "../../../../src/adapters/redis/registry/RegistryEvents.ts"
import { makeRegistryScripts } from "../../../../src/adapters/redis/registry/RegistryScripts.ts"
import type { RedisUnavailable } from "../../../../src/adapters/redis/registry/ScriptRunner.ts"
import { makeSyncState } from "../../../../src/adapters/redis/registry/RegistryEvents.ts"
import type { RegistryChange } from "../../../../src/application/ports/OfficeRegistry.ts"
import type { Membership } from "../../../../src/domain/model/Membership.ts"

export const node = "n1"

/** A call of a script. */
interface ScriptCall {
  readonly name: ScriptName
  readonly args: ReadonlyArray<string>
  /** In seconds; missing for the default. */
  readonly timeout?: number
}

export type Answer = (call: ScriptCall) => Effect.Effect<unknown, RedisUnavailable>

export const computerIn = (office: string, name = "pc"): Membership => ({ office, role: "computer", name })

/** A member as the scripts send it. */
export const memberJson = (sid: string, { membership = computerIn("O"), of = node, since = 1 } = {}) => ({
  since,
  sid,
  node: of,
  version: "0.2.0",
  seat: membership
})

/** A reply of the script `snapshot`. */
export const snapshotReply = (asOf: number, ...members: ReadonlyArray<object>) => [
  "ok",
  String(asOf),
  String(asOf),
  members.map((member) => JSON.stringify(member))
]

/** Gives these replies, and otherwise those of a Redis without other nodes, which has no members and accepts all. */
export const replying = (replies: { readonly [name in ScriptName]?: unknown }): Answer => {
  const all = { reconcile: [0, [node], [], 0], renew: ["ok", [node], 0], join: "joined", snapshot: snapshotReply(1) }
  const known: typeof replies = { ...all, ...replies }
  return ({ name }) => Effect.succeed(known[name] ?? 1)
}

export const agreeing: Answer = replying({})

/** The parts of a registry over scripts that `answer` answers. */
export const makeScriptedRegistry = Effect.fnUntraced(function* (
  answer: Answer = agreeing,
  gracePeriod: Duration.Duration = Duration.seconds(1)
) {
  const calls: Array<ScriptCall> = []
  const changes: Array<RegistryChange> = []
  const connection = { isReady: true }
  const emit = (change: RegistryChange) => void changes.push(change)
  const scripts = makeRegistryScripts(node, "tcp://here", {
    isReady: () => connection.isReady,
    onRecovered: () => undefined,
    reconnect: () => undefined,
    run: (name, args, timeout) =>
      Effect.suspend(() => {
        const call = { name, args, ...(timeout !== undefined && { timeout: Duration.toSeconds(timeout) }) }
        calls.push(call)
        return answer(call)
      })
  })
  const context: RegistryContext = {
    node,
    gracePeriod,
    local: new LocalOffices(node, emit),
    sync: makeSyncState(() => undefined),
    scripts,
    isReady: () => connection.isReady,
    emit,
    run: yield* FiberSet.makeRuntime<never>()
  }
  const { local } = context
  const events = makeRegistryEvents(context)
  const connect = (sid: string, identity: { readonly reconnectKey?: string; readonly subject?: string } = {}) => {
    const { reconnectKey = "", subject = "" } = identity
    const none = Option.none()
    return local.connect({ sid, node, version: "0.2.0", role: none, membership: none, reconnectKey, subject })
  }
  return {
    ...context,
    events,
    recovery: makeLeaseRecovery(context, events),
    join: makeJoinOffice(context, events),
    calls,
    changes,
    connection,
    connect,
    /** Connects a session that is in an office, with the revision of its join. */
    connectMember: (
      sid: string,
      membership: Membership,
      {
        joinedAt,
        revision = 1,
        ...identity
      }: { readonly joinedAt?: number; readonly revision?: number } & NonNullable<Parameters<typeof connect>[1]> = {}
    ) => {
      const registration = connect(sid, identity)
      const endJoin = local.beginJoin(sid, membership.office, () => undefined)
      const member = { sid, node, version: "0.2.0", membership, joinRevision: revision }
      const members = [...local.members(membership.office), { ...member, ...(joinedAt !== undefined && { joinedAt }) }]
      local.applySnapshot(membership.office, { revision, asOf: revision, members })
      endJoin()
      return registration
    },
    /** The names of the scripts that were called, in order. */
    called: () => calls.map(({ name }) => name)
  }
})
