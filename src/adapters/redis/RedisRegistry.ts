import { randomUUID } from "node:crypto"
import { Duration, Effect, FiberSet, Layer, Option, Queue, type Redacted, Semaphore } from "effect"
import {
  type Capacity,
  type Command,
  mayLeave,
  OfficeRefusal,
  unbounded
} from "../../domain/office/membership.ts"
import { type Change, OfficeRegistry } from "../../application/ports/OfficeRegistry.ts"
import { callsOf } from "./calls.ts"
import { joiningFor } from "./Joining.ts"
import { LocalOffices } from "./LocalOffices.ts"
import { type News, newsFor } from "./News.ts"
import { pulse, recoveryFor } from "./Recovery.ts"
import { connectScripts, type RedisUrlInvalid, scriptPatience } from "./RedisScripts.ts"
import { Trust } from "./Trust.ts"

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
  readonly settle?: Duration.Duration
}

/** A registry that all nodes with the same Redis and prefix share. Redis need not be there when it starts. */
export const layer = (options: RedisRegistryOptions): Layer.Layer<OfficeRegistry, RedisUrlInvalid> =>
  Layer.effect(OfficeRegistry, make(options))

const make = Effect.fnUntraced(function* ({
  node = randomUUID(),
  prefix = "{a2c}:",
  settle = Duration.seconds(1),
  url
}: RedisRegistryOptions) {
  const listeners = new Set<(change: Change) => void>()
  const tell = (change: Change) => {
    for (const listener of listeners) listener(change)
  }
  const run = yield* FiberSet.makeRuntime<never>()
  const wake = yield* Queue.sliding<void>(1)
  const local = new LocalOffices(node, tell)
  const trust = new Trust(() => void Queue.offerUnsafe(wake, undefined))
  const scripts = yield* connectScripts({
    url,
    prefix,
    channel: `${prefix}to:${node}`,
    onReady: () => trust.distrust(),
    onMessage: (text) => news.take(text)
  })
  const { ready } = scripts
  const calls = callsOf(node, scripts)
  const news: News = newsFor({ local, trust, calls, tell, run })
  const recovery = recoveryFor({ node, local, trust, calls, news, settle })
  const join = joiningFor({ local, trust, calls, news, ready, settle })
  const locks = new Map<string, Semaphore.Semaphore>()

  /** Gives up whatever seat a session has: here at once, in Redis as soon as it answers. */
  const vacate = (sid: string) =>
    Effect.suspend(() => {
      local.leave(sid)
      return Effect.ignore(trust.distrusting(calls.leave(sid)))
    })

  const settleCommand = (
    command: Exclude<Command, { readonly _tag: "Connect" }>,
    capacity: Capacity
  ): Effect.Effect<void, OfficeRefusal> => {
    const session = local.session(command.sid)
    if (session === undefined) {
      return command._tag === "Disconnect"
        ? Effect.void
        : Effect.fail(new OfficeRefusal({ why: "not connected", message: "Not connected" }))
    }
    switch (command._tag) {
      case "Join": {
        const { name, office, role } = command
        return join(session, { office, role, name }, capacity)
      }
      case "Leave":
        return Effect.flatMap(Effect.fromResult(mayLeave(session, command.office)), () => vacate(command.sid))
      case "Disconnect": {
        const gone = Effect.sync(() => {
          local.disconnect(command.sid)
          locks.delete(command.sid)
        })
        return Option.isNone(session.seat) ? gone : Effect.ensuring(vacate(command.sid), gone)
      }
    }
  }

  const apply = (command: Command, capacity: Capacity = unbounded) =>
    Effect.suspend((): Effect.Effect<void, OfficeRefusal> => {
      if (command._tag === "Connect") {
        const { holder, role, sid, version } = command
        local.connect({ sid, node, version, role, holder, seat: Option.none() })
        locks.set(sid, Semaphore.makeUnsafe(1))
        return Effect.void
      }
      const lock = locks.get(command.sid)
      const settled = Effect.suspend(() => settleCommand(command, capacity))
      return lock === undefined ? settled : lock.withPermit(settled)
    })

  // A clean end tells the others at once; when Redis is away, the lease does.
  yield* Effect.addFinalizer(() => Effect.ignore(calls.depart))

  yield* Effect.timeoutOption(Queue.take(wake), scriptPatience)
  if (!ready())
    yield* Effect.logWarning("Redis cannot be reached yet: nobody can join until it can", { node })
  const beat = Effect.suspend(() => (ready() ? recovery.beat : Effect.void))
  yield* Effect.forkScoped(
    Effect.forever(Effect.andThen(beat, Effect.timeoutOption(Queue.take(wake), pulse)))
  )

  return OfficeRegistry.of({
    node,
    apply,
    follow: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => void listeners.add(listener)),
        () => Effect.sync(() => void listeners.delete(listener))
      ),
    session: (sid) => Option.fromNullishOr(local.session(sid)),
    computerIn: (office, name) => local.computerIn(office, name),
    members: (office) => local.members(office),
    computerElsewhere: (office, name) =>
      Effect.matchEager(calls.elsewhere(office, name), {
        onSuccess: (found) => found,
        onFailure: () =>
          local.offices().some((other) => other !== office && Option.isSome(local.computerIn(other, name)))
      }),
    state: () => ({ up: ready() && trust.isTrusted, nodes: recovery.nodes(), ...local.size() })
  })
})
