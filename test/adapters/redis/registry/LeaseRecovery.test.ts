import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { RedisUnavailable } from "../../../../src/adapters/redis/registry/ScriptRunner.ts"
import { agreeing, computerIn, makeScriptedRegistry, memberJson, replying, snapshotReply } from "./scriptedRegistry.ts"

/** A registry with the members `s1` of the office `O` and `s2` of `P`, to which Redis gives this grace period. */
const withMembers = Effect.fnUntraced(function* (graceMillis: number, losers: ReadonlyArray<string> = []) {
  const reads: Array<string> = []
  const replies = replying({ reconcile: [graceMillis, ["n1", "n2"], losers, 0], renew: ["ok", ["n1", "n3"], 0] })
  const registry = yield* makeScriptedRegistry((call) => {
    if (call.name !== "snapshot") return replies(call)
    const [, office = ""] = call.args
    reads.push(registry.sync.isReconciling() ? `${office} too early` : office)
    const membership = computerIn(office)
    return Effect.succeed(snapshotReply(9, memberJson(office === "O" ? "s1" : "s2", { membership })))
  })
  registry.connectMember("s1", computerIn("O"), { revision: 1 })
  registry.connectMember("s2", computerIn("P"), { revision: 2 })
  registry.changes.length = 0
  return { ...registry, reads }
})

describe("the lease of a node", () => {
  it.effect("is renewed for three seconds by each heartbeat, which learns the nodes", () =>
    Effect.gen(function* () {
      const { calls, recovery, sync } = yield* withMembers(0)
      yield* recovery.heartbeat
      assert.deepStrictEqual([sync.isInSync(), recovery.nodes()], [true, ["n1", "n2"]])
      calls.length = 0
      yield* recovery.heartbeat
      assert.deepStrictEqual(calls, [{ name: "renew", args: ["n1", "3000"] }])
      assert.deepStrictEqual(recovery.nodes(), ["n1", "n3"])
    })
  )

  it.effect("requests a reconciliation when it has expired, and keeps the known nodes", () =>
    Effect.gen(function* () {
      const { recovery, sync } = yield* makeScriptedRegistry(replying({ renew: ["unknown_node", [], 0] }))
      yield* recovery.heartbeat
      yield* recovery.heartbeat
      assert.deepStrictEqual([sync.needsReconcile(), recovery.nodes()], [true, ["n1"]])
    })
  )
})

describe("a reconciliation", () => {
  it.effect("waits for the rest of the grace period with renewals, and then reads all offices", () =>
    Effect.gen(function* () {
      const { called, reads, recovery, sync } = yield* withMembers(1500)
      const fiber = yield* Effect.forkChild(recovery.heartbeat, { startImmediately: true })
      assert.deepStrictEqual([called(), sync.isReconciling(), sync.isInSync()], [["reconcile"], true, false])
      yield* TestClock.adjust("1400 millis")
      assert.deepStrictEqual(called(), ["reconcile", "renew", "renew"])
      yield* TestClock.adjust("99 millis")
      assert.isTrue(sync.isReconciling())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(called(), ["reconcile", "renew", "renew", "renew", "snapshot", "snapshot"])
      assert.deepStrictEqual(reads, ["O", "P"])
      assert.deepStrictEqual([sync.isReconciling(), sync.isInSync()], [false, true])
    })
  )

  it.effect("evicts a member whose place another one has taken", () =>
    Effect.gen(function* () {
      const { changes, recovery } = yield* withMembers(0, ["s1", "unknown"])
      yield* recovery.heartbeat
      assert.deepStrictEqual(
        changes.map((change) => [change._tag, "sid" in change ? change.sid : ""]),
        [
          ["Left", "s1"],
          ["Evicted", "s1"]
        ]
      )
    })
  )

  it.effect("ends when it fails, and is repeated by the next heartbeat", () =>
    Effect.gen(function* () {
      let fails = true
      const { called, recovery, sync } = yield* makeScriptedRegistry((call) =>
        fails ? Effect.fail(new RedisUnavailable({ message: "no answer" })) : agreeing(call)
      )
      yield* Effect.flip(recovery.heartbeat)
      assert.deepStrictEqual([sync.isReconciling(), sync.needsReconcile()], [false, true])
      fails = false
      yield* recovery.heartbeat
      assert.deepStrictEqual([called(), sync.isInSync()], [["reconcile", "reconcile"], true])
    })
  )

  it.effect("is followed by another one when a difference was found meanwhile", () =>
    Effect.gen(function* () {
      const { called, recovery, sync } = yield* withMembers(700)
      const fiber = yield* Effect.forkChild(recovery.heartbeat, { startImmediately: true })
      sync.markOutOfSync()
      yield* TestClock.adjust("700 millis")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual([sync.isInSync(), sync.needsReconcile()], [false, true])
      const again = yield* Effect.forkChild(recovery.heartbeat, { startImmediately: true })
      assert.strictEqual(called().at(-1), "reconcile")
      yield* Fiber.interrupt(again)
      assert.isFalse(sync.isReconciling())
    })
  )
})
