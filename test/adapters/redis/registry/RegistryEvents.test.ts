import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { RedisUnavailable } from "../../../../src/adapters/redis/registry/ScriptRunner.ts"
import { computerIn, makeScriptedRegistry, memberJson, replying, snapshotReply } from "./scriptedRegistry.ts"

const membership = computerIn("O")
const other = computerIn("O", "other")

/** A registry with the member `s1` of the office `O` at revision 1. */
const withMember = Effect.fnUntraced(function* (...options: Parameters<typeof makeScriptedRegistry>) {
  const registry = yield* makeScriptedRegistry(...options)
  registry.sync.startReconciling()
  registry.sync.stopReconciling()
  registry.sync.tryMarkInSync()
  registry.connectMember("s1", membership)
  registry.changes.length = 0
  const publish = (message: object) => registry.events.onMessage(JSON.stringify(message))
  const tags = () => registry.changes.map(({ _tag }) => _tag)
  return { ...registry, publish, tags }
})

const entered = (from: number, to: number) => ({
  office: "O",
  from,
  to,
  entered: memberJson("s2", { membership: other, of: "n2", since: to })
})

const s1 = memberJson("s1")
const s2 = memberJson("s2", { membership: other, of: "n2", since: 2 })

describe("a message of Redis", () => {
  it.effect("reports a join and a leave at another node", () =>
    Effect.gen(function* () {
      const { called, changes, publish } = yield* withMember()
      publish(entered(1, 2))
      publish({ office: "O", from: 2, to: 3, left: { sid: "s2", field: "cother", replaced: false } })
      const common = { sid: "s2", membership: other, recipients: ["s1"] }
      assert.deepStrictEqual(changes, [
        { _tag: "Entered", ...common },
        { _tag: "Left", ...common }
      ])
      assert.deepStrictEqual(called(), [])
    })
  )

  it.effect("reports a lost node", () =>
    Effect.gen(function* () {
      const { changes, publish } = yield* withMember()
      publish({ gone: "n2" })
      assert.deepStrictEqual(changes, [{ _tag: "NodeLost", node: "n2" }])
    })
  )

  it.effect("changes nothing when it is invalid", () =>
    Effect.gen(function* () {
      const { changes, publish, sync } = yield* withMember()
      publish({ office: "O" })
      assert.deepStrictEqual(changes, [])
      assert.isTrue(sync.isInSync())
    })
  )

  it.effect("reads a snapshot after a missed one", () =>
    Effect.gen(function* () {
      const { calls, publish, tags } = yield* withMember(replying({ snapshot: snapshotReply(3, s1, s2) }))
      publish(entered(2, 3))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual([calls, tags()], [[{ name: "snapshot", args: ["n1", "O"] }], ["Entered"]])
    })
  )

  it.effect("reads nothing after a missed one while nodes reconcile, which ends with a snapshot", () =>
    Effect.gen(function* () {
      const { called, publish, sync } = yield* withMember()
      sync.startReconciling()
      publish(entered(2, 3))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(called(), [])
    })
  )

  it.effect("counts with all members of a known office only when no node reconciles", () =>
    Effect.gen(function* () {
      const { publish, sync, tags } = yield* withMember()
      const all = { office: "O", to: 2, all: [] }
      sync.startReconciling()
      publish(all)
      assert.deepStrictEqual(tags(), [])
      sync.stopReconciling()
      publish(all)
      assert.deepStrictEqual(tags(), ["Left", "Evicted"])
    })
  )

  it.effect("counts with all members of an office that a session joins, also while nodes reconcile", () =>
    Effect.gen(function* () {
      const { connect, local, publish, sync, tags } = yield* withMember()
      connect("s3")
      local.beginJoin("s3", "P", () => undefined)
      sync.startReconciling()
      publish({ office: "P", to: 2, all: [memberJson("s3", { membership: computerIn("P"), since: 2 })] })
      assert.deepStrictEqual(tags(), ["Entered"])
    })
  )

  it.effect("requests a reconciliation, which removes a member of this node without a session", () =>
    Effect.gen(function* () {
      const { publish, sync, tags } = yield* withMember()
      publish({ office: "O", from: 1, to: 2, entered: memberJson("lost", { membership: other, since: 2 }) })
      assert.deepStrictEqual([sync.needsReconcile(), tags()], [true, []])
    })
  )
})

describe("the snapshot of an office", () => {
  it.effect("is read once more when it is requested during a read", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      let revision = 1
      const { called, events } = yield* withMember(({ name }) =>
        name === "snapshot"
          ? Effect.andThen(
              Deferred.await(gate),
              Effect.sync(() => snapshotReply(++revision, s1))
            )
          : Effect.die(name)
      )
      const first = yield* Effect.forkChild(events.refresh("O"), { startImmediately: true })
      yield* events.refresh("O")
      yield* events.refresh("O")
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(first)
      assert.deepStrictEqual(called(), ["snapshot", "snapshot"])
      yield* events.refresh("O")
      assert.strictEqual(called().length, 3)
    })
  )

  it.effect("is read again after one that failed, which requests a reconciliation", () =>
    Effect.gen(function* () {
      let fails = true
      const { called, events, sync } = yield* withMember(() =>
        fails ? Effect.fail(new RedisUnavailable({ message: "no answer" })) : Effect.succeed(snapshotReply(1, s1))
      )
      yield* Effect.flip(events.refresh("O"))
      assert.isTrue(sync.needsReconcile())
      fails = false
      yield* events.refresh("O")
      assert.strictEqual(called().length, 2)
    })
  )

  it.effect("counts for nothing when Redis does not know this node", () =>
    Effect.gen(function* () {
      const { events, sync, tags } = yield* withMember(() => Effect.succeed(["unknown_node", "0", "0", []]))
      yield* events.refresh("O")
      assert.deepStrictEqual([sync.needsReconcile(), tags()], [true, []])
    })
  )

  it.effect("is dropped when the last member of this node has left during the read", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { events, local, tags } = yield* withMember(() => Effect.as(Deferred.await(gate), snapshotReply(2, s2)))
      const reading = yield* Effect.forkChild(events.refresh("O"), { startImmediately: true })
      local.leave("s1")
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(reading)
      assert.deepStrictEqual([tags(), local.hasReplica("O")], [["Left"], false])
    })
  )
})
