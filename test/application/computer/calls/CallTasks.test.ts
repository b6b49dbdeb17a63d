import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Result } from "effect"
import { TestClock } from "effect/testing"
import { makeCallTasks } from "../../../../src/application/computer/calls/CallTasks.ts"
import type { CallReporter } from "../../../../src/application/computer/calls/Call.ts"
import { estimateSize } from "../../../../src/domain/calls/tasksState.ts"
import { officeCaller } from "../../../../src/domain/approvals/Caller.ts"
import type { ToolResult } from "../../../../src/domain/model/ToolResult.ts"

/** The bounds that docs/limits.md states. */
const bounds = { running: 64, kept: 256, characters: 32 * 1024 * 1024 }

const resultOf = (text: string): ToolResult => ({ content: [{ type: "text", text }], isError: false })

const ada = officeCaller("ada", 1, true)
const bob = officeCaller("bob", 1, true)

/** Tasks of an Agent whose calls end when the test ends them. */
const makeTasks = Effect.gen(function* () {
  const ends = new Map<string, Deferred.Deferred<ToolResult>>()
  const cancelled: Array<string> = []
  const reporters = new Map<string, CallReporter>()
  const tasks = yield* makeCallTasks(({ id }, reporter) =>
    Effect.gen(function* () {
      const end = yield* Deferred.make<ToolResult>()
      ends.set(id, end)
      reporters.set(id, reporter)
      return yield* Effect.onInterrupt(Deferred.await(end), () => Effect.sync(() => void cancelled.push(id)))
    })
  )
  const call = (id: string, more: object = {}) => ({ caller: ada, id, tool: "work", params: {}, timeout: 60, ...more })
  const start = (id: string, more?: object) =>
    Effect.tap(tasks.start(call(id, more)), () => Effect.repeat(Effect.yieldNow, { until: () => ends.has(id) }))
  const end = (id: string, result = resultOf("done")) =>
    Effect.gen(function* () {
      const ended = ends.get(id)
      if (ended !== undefined) yield* Deferred.succeed(ended, result)
      yield* Effect.repeat(tasks.get(ada, { id }), { until: ({ state }) => state !== "working" })
    })
  const isKnown = (id: string) => Effect.map(Effect.result(tasks.get(ada, { id })), Result.isSuccess)
  return { tasks, call, start, end, cancelled, reporters, isKnown }
})

const idsOf = (count: number) => Array.from({ length: count }, (_, at) => `t${at}`)

describe("bounds of tasks", () => {
  it.effect(`runs ${bounds.running} calls, rejects a further one, and starts it when one has ended`, () =>
    Effect.gen(function* () {
      const { end, start } = yield* makeTasks
      yield* Effect.forEach(idsOf(bounds.running), (id) => start(id))
      const rejected = yield* Effect.flip(start("more"))
      assert.deepStrictEqual([rejected.code, rejected.message.includes(`${bounds.running} tasks`)], [429, true])
      yield* end("t3")
      assert.strictEqual((yield* start("more")).state, "working")
    })
  )

  it.effect("counts a repeated start as no further call", () =>
    Effect.gen(function* () {
      const { start, tasks, call } = yield* makeTasks
      yield* Effect.forEach(idsOf(bounds.running), (id) => start(id))
      assert.strictEqual((yield* tasks.start(call("t0"))).state, "working")
    })
  )

  it.effect(`keeps ${bounds.kept} tasks, and drops the oldest one for a further one`, () =>
    Effect.gen(function* () {
      const { end, isKnown, start } = yield* makeTasks
      yield* Effect.forEach(idsOf(bounds.kept), (id) => Effect.andThen(start(id), end(id)))
      assert.isTrue(yield* isKnown("t0"))
      yield* start("more")
      assert.deepStrictEqual([yield* isKnown("t0"), yield* isKnown("t1")], [false, true])
    })
  )

  it.effect("drops an ended task for a further one, and not a running one that is older", () =>
    Effect.gen(function* () {
      const { end, isKnown, start } = yield* makeTasks
      yield* start("running")
      yield* Effect.forEach(idsOf(bounds.kept - 1), (id) => Effect.andThen(start(id), end(id)))
      yield* start("more")
      assert.deepStrictEqual(
        [yield* isKnown("running"), yield* isKnown("t0"), yield* isKnown("t1")],
        [true, false, true]
      )
    })
  )

  it.effect.each([
    ["keeps two results of 32 Mi characters together", bounds.characters, true],
    ["drops the older one of two results with one character more", bounds.characters + 1, false]
  ] as const)("%s", ([, characters, isKept]) =>
    Effect.gen(function* () {
      const { end, isKnown, start } = yield* makeTasks
      const [first, second] = [Math.floor(characters / 2), Math.ceil(characters / 2)]
      const empty = estimateSize(resultOf(""))
      for (const [id, size] of [
        ["one", first],
        ["other", second]
      ] as const) {
        yield* start(id)
        yield* end(id, resultOf("x".repeat(size - empty)))
      }
      assert.deepStrictEqual([yield* isKnown("one"), yield* isKnown("other")], [isKept, true])
    })
  )

  it.effect("keeps a result for an hour after the end of a long call", () =>
    Effect.gen(function* () {
      const { end, isKnown, start } = yield* makeTasks
      yield* start("t")
      yield* TestClock.adjust("2 hours")
      assert.isTrue(yield* isKnown("t"))
      yield* end("t")
      yield* TestClock.adjust("3599999 millis")
      assert.isTrue(yield* isKnown("t"))
      yield* TestClock.adjust("1 millis")
      assert.isFalse(yield* isKnown("t"))
    })
  )
})

describe("state of a task", () => {
  it.effect("has the times of its start and of its end", () =>
    Effect.gen(function* () {
      const { end, start, tasks } = yield* makeTasks
      yield* TestClock.adjust("1 second")
      yield* start("t")
      yield* TestClock.adjust("5 seconds")
      yield* end("t")
      yield* TestClock.adjust("5 seconds")
      const { createdAt, updatedAt } = yield* tasks.get(ada, { id: "t" })
      assert.deepStrictEqual([createdAt, updatedAt], [1000, 6000])
    })
  )

  it.effect("has the time of its latest report", () =>
    Effect.gen(function* () {
      const { reporters, start, tasks } = yield* makeTasks
      yield* start("t")
      yield* TestClock.adjust("3 seconds")
      yield* reporters.get("t")?.report({
        reqId: "t",
        status: { _tag: "Progressing", computer: "pc", progress: 1 }
      }) ?? Effect.void
      assert.strictEqual((yield* tasks.get(ada, { id: "t" })).updatedAt, 3000)
    })
  )

  it.effect("waits for approvals as long as they take, since its Agent waits on", () =>
    Effect.gen(function* () {
      const { reporters, start } = yield* makeTasks
      yield* start("t")
      const status = { _tag: "WaitingForConsent", computer: "pc" } as const
      assert.isTrue(yield* reporters.get("t")?.announceWait({ reqId: "t", status }) ?? Effect.succeed(false))
    })
  )

  it.effect("is given at once where the Agent has seen an older one, and otherwise after its change", () =>
    Effect.gen(function* () {
      const { end, start, tasks } = yield* makeTasks
      const { version } = yield* start("t")
      assert.strictEqual((yield* tasks.get(ada, { id: "t", seen: version - 1, wait: 20 })).version, version)
      const waiting = yield* Effect.forkChild(tasks.get(ada, { id: "t", seen: version, wait: 20 }), {
        startImmediately: true
      })
      yield* TestClock.adjust("19 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      yield* end("t")
      assert.strictEqual((yield* Fiber.join(waiting)).state, "completed")
    })
  )

  it.effect("is given unchanged when the time to wait has passed", () =>
    Effect.gen(function* () {
      const { start, tasks } = yield* makeTasks
      const { version } = yield* start("t")
      const waiting = yield* Effect.forkChild(tasks.get(ada, { id: "t", seen: version, wait: 20 }))
      yield* TestClock.adjust("20 seconds")
      assert.deepInclude(yield* Fiber.join(waiting), { state: "working", version })
    })
  )
})

describe("identity of a task", () => {
  it.effect("rejects another tool and other arguments under its id", () =>
    Effect.gen(function* () {
      const { call, start, tasks } = yield* makeTasks
      yield* start("t")
      for (const other of [{ tool: "other" }, { params: { other: true } }]) {
        assert.strictEqual((yield* Effect.flip(tasks.start(call("t", other)))).code, 400)
      }
    })
  )

  it.effect("joins the same call with arguments in another order", () =>
    Effect.gen(function* () {
      const { call, start, tasks } = yield* makeTasks
      const { createdAt } = yield* start("t", { params: { a: 1, b: 2 } })
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* tasks.start(call("t", { params: { b: 2, a: 1 } }))).createdAt, createdAt)
    })
  )

  it.effect("is the id at its Agent: another Agent has another task, and cancels only this", () =>
    Effect.gen(function* () {
      const { call, start, tasks } = yield* makeTasks
      yield* start("t")
      yield* tasks.start({ ...call("t"), caller: bob })
      assert.strictEqual((yield* tasks.cancel(bob, "t")).state, "cancelled")
      assert.strictEqual((yield* tasks.get(ada, { id: "t" })).state, "working")
    })
  )
})

describe("cancellation of a task", () => {
  it.effect("ends it before its call begins", () =>
    Effect.gen(function* () {
      const { call, tasks } = yield* makeTasks
      yield* tasks.start(call("t"))
      assert.strictEqual((yield* tasks.cancel(ada, "t")).state, "cancelled")
      assert.strictEqual((yield* tasks.get(ada, { id: "t" })).state, "cancelled")
    })
  )

  it.effect("ends it while its call runs", () =>
    Effect.gen(function* () {
      const { cancelled, start, tasks } = yield* makeTasks
      yield* start("t")
      assert.strictEqual((yield* tasks.cancel(ada, "t")).state, "cancelled")
      assert.deepStrictEqual(cancelled, ["t"])
    })
  )
})

describe("reset of tasks", () => {
  it.effect("cancels those that run and forgets all", () =>
    Effect.gen(function* () {
      const { cancelled, end, isKnown, start, tasks } = yield* makeTasks
      yield* start("ended")
      yield* end("ended")
      yield* start("running")
      yield* tasks.reset
      assert.deepStrictEqual(cancelled, ["running"])
      assert.deepStrictEqual([yield* isKnown("ended"), yield* isKnown("running")], [false, false])
    })
  )

  it.effect("lets ids be used again", () =>
    Effect.gen(function* () {
      const { call, start, tasks } = yield* makeTasks
      yield* start("t")
      yield* tasks.reset
      assert.strictEqual((yield* tasks.start(call("t", { tool: "other" }))).state, "working")
    })
  )
})
