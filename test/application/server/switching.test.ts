import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { MaxOpsBeforeYield } from "effect/Scheduler"
import { agentIn, assertRejected, bodiesOf, computer, computerIn, join } from "../../conformance/joinedMembers.ts"
import { buildWorld } from "../../conformance/World.ts"

/** Fibers yield after so many operations, as the fan-out to a full office does. */
const fewSteps = 40

it.effect("keeps a call to a Computer that has just left another office", () =>
  Effect.gen(function* () {
    const world = yield* buildWorld("memory", {})
    const a1 = yield* agentIn(world, "O2")
    const c1 = yield* computerIn(world, "O1")
    const arrived = yield* Deferred.make<void>()
    yield* c1.answers(() => Effect.as(Deferred.await(arrived), [{ tools: [], req_id: "r" }]))
    for (const name of ["pc-2", "pc-3", "pc-4", "pc-5"]) yield* computerIn(world, "O1", name)
    const late = yield* computer(world)
    const begin = { startImmediately: true }
    // The second move completes while the first one is announced to O1, and is announced afterwards.
    const entering = yield* Effect.forkChild(join(late, "computer", "pc-6", "O1"), begin)
    const switching = yield* Effect.forkChild(join(c1, "computer", "pc-1", "O2"), begin)
    const calls: Array<Fiber.Fiber<ReadonlyArray<unknown>>> = []
    while (switching.pollUnsafe() === undefined) {
      const request = { agent: "agent-1", req_id: `${calls.length}`, computer: "pc-1" }
      calls.push(yield* Effect.forkChild(a1.request("client:get_tools", request), begin))
      yield* Effect.yieldNow
    }
    for (const fiber of [entering, switching]) assert.deepStrictEqual(yield* Fiber.join(fiber), [true, null])
    yield* Deferred.succeed(arrived, undefined)
    const ends = yield* Effect.forEach(calls, Fiber.join)
    const early = ends.length - bodiesOf(c1, "client:get_tools").length
    assert.isBelow(early, ends.length)
    for (const end of ends.slice(0, early)) assertRejected(end, 404, 4104)
    for (const end of ends.slice(early)) assert.deepStrictEqual(end, [{ tools: [], req_id: "r" }])
  }).pipe(Effect.provideService(MaxOpsBeforeYield, fewSteps))
)
