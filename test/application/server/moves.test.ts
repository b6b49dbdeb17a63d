import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Latch, Layer } from "effect"
import * as MemoryCluster from "../../../src/adapters/memory/MemoryCluster.ts"
import { OfficeRegistry } from "../../../src/application/ports/OfficeRegistry.ts"
import { assertDenied, computer, join } from "../../conformance/cast.ts"
import { buildWorld } from "../../conformance/World.ts"

/** Offices whose joins wait until the latch is open. */
const slowOffices = (open: Latch.Latch) =>
  Layer.effect(
    OfficeRegistry,
    Effect.map(OfficeRegistry, (offices) => ({
      ...offices,
      apply: (command, capacity) =>
        command._tag === "Join"
          ? Effect.andThen(open.await, offices.apply(command, capacity))
          : offices.apply(command, capacity)
    }))
  ).pipe(Layer.provideMerge(MemoryCluster.layer))

it.effect("a member does not pile up joins faster than they are done", () =>
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
