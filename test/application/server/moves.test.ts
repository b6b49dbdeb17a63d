import { assert, it } from "@effect/vitest"
import { Duration, Effect, Exit, Fiber, Latch, Queue, Scope, Stream } from "effect"
import { TestClock } from "effect/testing"
import { allowAll } from "../../../src/application/ports/Authenticator.ts"
import {
  agentIn,
  assertDenied,
  bodiesOf,
  computer,
  computerIn,
  join,
  settled
} from "../../conformance/joinedMembers.ts"
import { buildWorld } from "../../conformance/World.ts"
import { settle } from "../../settle.ts"
import { clusterWith } from "./parts.ts"

/** A registry whose joins wait until the latch is open. */
const slowOffices = (open: Latch.Latch) =>
  clusterWith(({ apply }) => ({
    apply: (command, capacity) =>
      command._tag === "Join" ? Effect.andThen(open.await, apply(command, capacity)) : apply(command, capacity)
  }))

/** Send backlog, in bytes, above which notifications are deferred. */
const notificationBacklogBytes = 190

it.effect("sends deferred notifications to a slow reader before its next join completes", () =>
  Effect.gen(function* () {
    const open = yield* Latch.make(true)
    const reads = yield* Latch.make(true)
    let slow = ""
    const world = yield* buildWorld("memory", {
      cluster: slowOffices(open),
      limits: { notificationBacklogBytes },
      reading: (sid) => (sid === slow ? reads.await : Effect.void)
    })
    const c1 = yield* computerIn(world, "O1")
    const c2 = yield* computerIn(world, "O1", "pc-2")
    slow = c2.sid()
    yield* reads.close
    yield* open.close
    const moving = yield* Effect.forkChild(join(c2, "computer", "pc-2", "O2"), { startImmediately: true })
    for (let count = 0; count < 20; count++) yield* c1.notify("server:update_desktop", { computer: "pc-1" })
    yield* settled([c1])
    yield* open.open
    yield* Effect.repeat(Effect.yieldNow, { until: () => world.server.load().offices === 2 })
    yield* reads.open
    assert.deepStrictEqual(yield* Fiber.join(moving), [true, null])
    const updates = bodiesOf(c2, "notify:update_desktop").length
    assert.isAbove(updates, 0)
    yield* world.elapse("2 seconds")
    yield* settled([c2])
    assert.lengthOf(bodiesOf(c2, "notify:update_desktop"), updates)
  })
)

it.effect("closes a revoked connection at once while other revoked ones have joins in progress", () =>
  Effect.gen(function* () {
    const open = yield* Latch.make(true)
    const changes = yield* Queue.unbounded<void>()
    let isStillValid = true
    const authenticator = {
      ...allowAll,
      isStillValid: () => isStillValid,
      changes: Stream.fromQueue(changes)
    }
    const world = yield* buildWorld("memory", { authenticator, cluster: slowOffices(open) })
    const busy = yield* computerIn(world, "O1")
    const idle = yield* computerIn(world, "O1", "pc-2")
    yield* open.close
    yield* Effect.forkChild(Effect.exit(join(busy, "computer", "pc-1", "O2")), { startImmediately: true })
    yield* settled([idle])
    isStillValid = false
    yield* Queue.offer(changes, undefined)
    assert.strictEqual(yield* idle.closed, "credentials revoked")
    yield* open.open
    assert.strictEqual(yield* busy.closed, "credentials revoked")
  })
)

it.effect("cancels the pending joins of a closed connection", () =>
  Effect.gen(function* () {
    const open = yield* Latch.make(true)
    const world = yield* buildWorld("memory", { cluster: slowOffices(open) })
    const offices = ["O1", "O2", "O3"]
    const agents = yield* Effect.forEach(offices, (office) => agentIn(world, office))
    const c1 = yield* computer(world)
    yield* open.close
    for (const office of offices) {
      yield* Effect.forkChild(Effect.exit(join(c1, "computer", "pc-1", office)), { startImmediately: true })
    }
    yield* settle
    const closing = yield* Effect.forkChild(c1.close, { startImmediately: true })
    yield* open.open
    yield* Fiber.join(closing)
    yield* settled(agents)
    // The first join was in progress and may have completed.
    const visits = agents.map((agent) => bodiesOf(agent, "notify:enter_office").length)
    assert.deepStrictEqual(visits, [1, 0, 0])
    assert.deepStrictEqual(world.server.load(), { connections: 3, sessions: 3, offices: 3, calls: 0 })
  })
)

it.effect("rejects a pending join when the Server drains", () =>
  Effect.gen(function* () {
    const open = yield* Latch.make(true)
    const home = yield* Scope.make()
    const world = yield* Scope.provide(
      buildWorld("memory", { cluster: slowOffices(open), drainTimeout: Duration.seconds(10) }),
      home
    )
    const a1 = yield* agentIn(world, "O1")
    const c1 = yield* computerIn(world, "O1")
    yield* c1.answers(() => Effect.never)
    const call = { agent: "agent-1", req_id: "r", computer: "pc-1" }
    yield* Effect.forkChild(Effect.exit(a1.request("client:get_tools", call)), { startImmediately: true })
    const c2 = yield* computer(world)
    yield* open.close
    const [first, second] = yield* Effect.forEach(["O2", "O3"], (office) =>
      Effect.forkChild(join(c2, "computer", "pc-2", office), { startImmediately: true })
    )
    yield* settled([a1])
    yield* Effect.forkChild(Scope.close(home, Exit.void), { startImmediately: true })
    assert.isTrue(world.server.draining())
    yield* open.open
    assert.deepStrictEqual(yield* Fiber.join(first ?? assert.fail()), [true, null])
    assert.include(assertDenied(yield* Fiber.join(second ?? assert.fail())), "shutting down")
    yield* TestClock.adjust("11 seconds")
  })
)

it.effect("limits the pending joins of a connection", () =>
  Effect.gen(function* () {
    const open = yield* Latch.make(false)
    const world = yield* buildWorld("memory", { cluster: slowOffices(open) })
    const c1 = yield* computer(world)
    const joining = (office: string) => join(c1, "computer", "pc-1", office)
    const first = yield* Effect.forEach(
      Array.from({ length: 16 }, (_, index) => `O${index}`),
      (office) => Effect.forkChild(joining(office), { startImmediately: true })
    )
    yield* Effect.yieldNow
    assert.include(assertDenied(yield* joining("O17")), "under way")
    yield* open.open
    for (const fiber of first) assert.deepStrictEqual(yield* Fiber.join(fiber), [true, null])
    assert.deepStrictEqual(yield* joining("O17"), [true, null])
  })
)
