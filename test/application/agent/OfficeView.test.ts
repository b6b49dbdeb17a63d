import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Result, SubscriptionRef } from "effect"
import { TestClock } from "effect/testing"
import {
  applyNotice,
  applyUpdate,
  initialView,
  type OfficeView,
  ownerIn,
  searchTool,
  unknownComputer
} from "../../../src/application/agent/OfficeView.ts"
import type { CallStatus } from "../../../src/domain/model/CallStatus.ts"
import type { Tool } from "../../../src/domain/model/Tool.ts"
import type { Membership } from "../../../src/domain/model/Membership.ts"

const membership = (role: Membership["role"], name: string): Membership => ({ office: "O", role, name })
const start = initialView([
  { role: "agent", name: "a" },
  { role: "computer", name: "c" }
])

describe("OfficeView", () => {
  it("ignores an update of a Computer that has left", () => {
    const left = applyNotice(start, { _tag: "Left", membership: membership("computer", "c") })
    assert.deepStrictEqual(applyUpdate(left, "c", { desktop: ["late"] }), left)
    assert.strictEqual(left.computers.size, 0)
  })

  it("forgets the parts of a Computer that enters again", () => {
    const known = applyUpdate(start, "c", { desktop: ["w"], tools: [] })
    const again = applyNotice(known, { _tag: "Entered", membership: membership("computer", "c") })
    assert.deepStrictEqual(again.computers.get("c"), unknownComputer)
    assert.strictEqual(again.members.length, 2)
  })

  it("tells an Agent from a Computer of the same name", () => {
    const view = applyNotice(start, { _tag: "Left", membership: membership("agent", "c") })
    assert.deepStrictEqual(view, start)
  })

  it("ignores notifications of updates and cancellations", () => {
    assert.strictEqual(applyNotice(start, { _tag: "Updated", part: "desktop", computer: "c" }), start)
    assert.strictEqual(applyNotice(start, { _tag: "Cancelled", agent: "a", reqId: "r" }), start)
  })
})

describe("search for the Computer of a tool", () => {
  const listed = (name: string): Tool => ({ name, description: "", paramsSchema: {}, returnSchema: null, meta: {} })
  const knownView = (tools: ReadonlyArray<string>, startingServers: ReadonlyArray<string>) =>
    applyUpdate(start, "c", { tools: tools.map(listed), startingServers })

  const search = Effect.fnUntraced(function* (view: OfficeView, statuses: Array<CallStatus> = []) {
    const views = yield* SubscriptionRef.make(view)
    const options = {
      tool: "t",
      timeout: Duration.minutes(1),
      awaitsServers: true,
      onStatus: (status: CallStatus) => Effect.sync(() => void statuses.push(status))
    }
    const lists = {
      view: SubscriptionRef.get(views),
      changes: SubscriptionRef.changes(views),
      settled: Effect.void,
      refresh: () => Effect.void
    }
    const searching = yield* Effect.forkChild(
      Effect.result(Effect.flatMap(searchTool(options, lists), (found) => ownerIn(found, "t")))
    )
    yield* TestClock.adjust(0)
    return { searching, set: (next: OfficeView) => SubscriptionRef.set(views, next) }
  })

  it.effect("waits until a starting server has the tool, and says so", () =>
    Effect.gen(function* () {
      const statuses: Array<CallStatus> = []
      const { searching, set } = yield* search(knownView([], ["s"]), statuses)
      yield* set(knownView(["u"], ["s"]))
      yield* TestClock.adjust("30 seconds")
      assert.isUndefined(searching.pollUnsafe())
      yield* set(knownView(["t"], []))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* Fiber.join(searching), Result.succeed("c"))
      assert.deepStrictEqual(statuses, [{ _tag: "WaitingForServers", computer: "c", servers: ["s"] }])
    })
  )

  it.effect("does not wait when a Computer has the tool, or no server starts", () =>
    Effect.gen(function* () {
      const found = yield* search(knownView(["t"], ["s"]))
      assert.deepStrictEqual(yield* Fiber.join(found.searching), Result.succeed("c"))
      const { searching } = yield* search(knownView([], []))
      assert.isTrue(Result.isFailure(yield* Fiber.join(searching)))
    })
  )

  it.effect("names the servers that are restarting when no Computer has the tool", () =>
    Effect.gen(function* () {
      const { searching } = yield* search(applyUpdate(knownView([], []), "c", { restartingServers: ["s"] }))
      const { message } = Result.getOrThrow(Result.flip(yield* Fiber.join(searching)))
      const hint = "; MCP servers that are restarting, try again: s"
      assert.strictEqual(message, `No Computer of this office has a tool "t"${hint}`)
    })
  )

  it.effect("names the servers that do not start, and why, when no Computer has the tool", () =>
    Effect.gen(function* () {
      const failingServers = [{ name: "s", reason: 'command "x" not found' }]
      const { searching } = yield* search(applyUpdate(knownView([], []), "c", { failingServers }))
      const { message } = Result.getOrThrow(Result.flip(yield* Fiber.join(searching)))
      const hint = '. The MCP server s, which may have it, is failing: command "x" not found'
      assert.strictEqual(message, `No Computer of this office has a tool "t"${hint}`)
    })
  )

  it.effect("fails when the servers have started without the tool, and names them at the timeout", () =>
    Effect.gen(function* () {
      const message = 'No Computer of this office has a tool "t"'
      const started = yield* search(knownView([], ["s"]))
      yield* started.set(knownView([], []))
      yield* TestClock.adjust(0)
      assert.strictEqual(Result.getOrThrow(Result.flip(yield* Fiber.join(started.searching))).message, message)
      const { searching } = yield* search(knownView([], ["s"]))
      yield* TestClock.adjust("1 minute")
      const { message: late } = Result.getOrThrow(Result.flip(yield* Fiber.join(searching)))
      assert.strictEqual(late, `${message}; MCP servers that are still starting: s`)
    })
  )
})
