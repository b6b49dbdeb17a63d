import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { RedisUnavailable } from "../../../../src/adapters/redis/registry/ScriptRunner.ts"
import {
  agreeing,
  type Answer,
  computerIn,
  makeScriptedRegistry,
  memberJson,
  replying,
  snapshotReply
} from "./scriptedRegistry.ts"
import { type TestBody, effectWith } from "../../../testWith.ts"

const capacity = { offices: 3, membersPerOffice: 4 }
const membership = computerIn("O")

/** A registry in sync with Redis, in which the session `s1` joins the office `O`. */
const joining = Effect.fnUntraced(function* (answer: Answer = agreeing) {
  const registry = yield* makeScriptedRegistry(answer)
  registry.sync.startReconciling()
  registry.sync.stopReconciling()
  registry.sync.tryMarkInSync()
  const registration = registry.connect("s1")
  const join = registry.join(registration.session, membership, {}, capacity)
  const fiber = yield* Effect.forkChild(Effect.result(join), { startImmediately: true })
  const echo = (revision = 1) =>
    registry.events.onMessage(
      JSON.stringify({ office: "O", to: revision, all: [memberJson("s1", { since: revision })] })
    )
  const reason = Effect.map(Fiber.join(fiber), (result) =>
    result._tag === "Failure" ? result.failure.reason : "joined"
  )
  return { ...registry, registration, fiber, reason, echo }
})

type Joining = Effect.Success<ReturnType<typeof joining>>
const effect = (title: string, answer: Answer, body: TestBody<Joining>) => effectWith(joining(answer))(title, body)

describe("a join in Redis", () => {
  effect("waits for its echo on the channel", agreeing, function* ({ called, changes, echo, fiber, reason }) {
    yield* TestClock.adjust("499 millis")
    assert.isUndefined(fiber.pollUnsafe())
    echo()
    assert.strictEqual(yield* reason, "joined")
    assert.deepStrictEqual(changes, [{ _tag: "Entered", sid: "s1", membership, recipients: [] }])
    assert.deepStrictEqual(called(), ["join"])
  })

  it.effect("reads a snapshot when its echo does not come", () =>
    Effect.gen(function* () {
      const { called, changes, reason, sync } = yield* joining(
        replying({ snapshot: snapshotReply(1, memberJson("s1")) })
      )
      yield* TestClock.adjust("500 millis")
      assert.strictEqual(yield* reason, "joined")
      assert.deepStrictEqual([called(), changes.map(({ _tag }) => _tag)], [["join", "snapshot"], ["Entered"]])
      assert.isTrue(sync.isInSync())
    })
  )

  effect(
    "fails when a snapshot does not have it, and requests a reconciliation",
    agreeing,
    function* ({ local, reason, sync }) {
      yield* TestClock.adjust("500 millis")
      assert.strictEqual(yield* reason, "unavailable")
      assert.isTrue(sync.needsReconcile())
      assert.deepStrictEqual(local.reconcileState().pendingJoins, [])
    }
  )

  for (const [title, joinedAt, message] of [
    ["and since when", "5", "connected since 1970-01-01T00:00:00.005Z"],
    ["of an older node without a time", "", "has the Computer 'PC'"]
  ] as const) {
    effect(
      `names the member that has its place, ${title}`,
      replying({ join: ["taken", "PC", joinedAt] }),
      function* ({ fiber, sync }) {
        const error = yield* Effect.flip(Effect.flatMap(Fiber.join(fiber), Effect.fromResult))
        assert.strictEqual(error.reason, "name_taken")
        assert.isTrue(error.message.endsWith(joinedAt === "" ? message : `'PC', ${message}`), error.message)
        assert.isTrue(sync.isInSync())
      }
    )
  }

  for (const reply of ["office_full", "too_many_offices"]) {
    effect(`fails with ${reply}, once`, replying({ join: reply }), function* ({ called, local, reason }) {
      assert.strictEqual(yield* reason, reply)
      assert.deepStrictEqual([called(), local.reconcileState().pendingJoins], [["join"], []])
    })
  }

  effect(
    "is repeated after a reconciliation when Redis has received it too late",
    replying({ join: "expired" }),
    function* ({ called, echo, reason, sync }) {
      assert.isFalse(sync.isInSync())
      for (const attempt of [2, 3, 4]) {
        sync.startReconciling()
        sync.tryMarkInSync()
        yield* TestClock.adjust(0)
        assert.strictEqual(called().length, attempt)
      }
      echo()
      assert.strictEqual(yield* reason, "unavailable")
      assert.strictEqual(called().length, 4)
    }
  )

  effect(
    "fails when no reconciliation ends in the grace period and a second",
    replying({ join: "unknown_node" }),
    function* ({ called, fiber, reason }) {
      yield* TestClock.adjust("1999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* reason, "unavailable")
      assert.deepStrictEqual(called(), ["join"])
    }
  )

  effect(
    "fails with a call that fails, since Redis may have run it",
    () => Effect.fail(new RedisUnavailable({ message: "no answer" })),
    function* ({ reason, sync }) {
      assert.strictEqual(yield* reason, "unavailable")
      assert.isTrue(sync.needsReconcile())
    }
  )

  it.effect("fails at once without a connection", () =>
    Effect.gen(function* () {
      const { calls, connect, connection, join } = yield* makeScriptedRegistry()
      connection.isReady = false
      const error = yield* Effect.flip(join(connect("s1").session, membership, {}, capacity))
      assert.deepStrictEqual([error.reason, calls], ["unavailable", []])
    })
  )

  it.effect("is not sent when it changes nothing", () =>
    Effect.gen(function* () {
      const { calls, connectMember, join } = yield* makeScriptedRegistry()
      const registration = connectMember("s1", membership)
      yield* join(registration.session, membership, {}, capacity)
      assert.deepStrictEqual(calls, [])
    })
  )

  it.effect("requests a reconciliation when it fails during one, which has left the member out", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<string>()
      const registry = yield* makeScriptedRegistry((call) =>
        call.name === "join" ? Deferred.await(gate) : agreeing(call)
      )
      const { connectMember, join, sync } = registry
      const agree = () => {
        sync.startReconciling()
        sync.tryMarkInSync()
      }
      agree()
      const registration = connectMember("s1", membership)
      const moving = yield* Effect.forkChild(Effect.result(join(registration.session, computerIn("P"), {}, capacity)), {
        startImmediately: true
      })
      agree()
      assert.deepStrictEqual(registry.local.reconcileState().joined, [])
      yield* Deferred.succeed(gate, "office_full")
      yield* Fiber.join(moving)
      assert.isTrue(sync.needsReconcile())
    })
  )

  effect("is pending no longer when it is interrupted", agreeing, function* ({ fiber, local }) {
    assert.deepStrictEqual(local.reconcileState().pendingJoins, ["s1"])
    yield* Fiber.interrupt(fiber)
    assert.deepStrictEqual(local.reconcileState().pendingJoins, [])
  })

  it.effect("succeeds without another call when its echo comes before the reply", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const { called, echo, fiber, reason, registration } = yield* joining((call) =>
        call.name === "join" ? Effect.as(Deferred.await(gate), "joined") : agreeing(call)
      )
      echo()
      assert.isUndefined(fiber.pollUnsafe())
      yield* Deferred.done(gate, Exit.void)
      assert.strictEqual(yield* reason, "joined")
      assert.deepStrictEqual([called(), Option.getOrUndefined(registration.session.membership)], [["join"], membership])
    })
  )
})
