import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makePublishedTasks } from "../../../../src/adapters/mcp/publish/publishedTasks.ts"
import {
  type InputResponder,
  type McpCallOptions,
  type McpProgress,
  McpSessionError
} from "../../../../src/application/ports/McpSession.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import { effectWith } from "../../../testWith.ts"

const form = { type: "object", properties: { name: { type: "string" } } }
const done: JsonObject = { content: [{ type: "text", text: "done" }], _meta: { mine: 1 } }

/** The bounds that docs/limits.md states. */
const bounds = { followed: 1024, hours: 2 }

interface Running {
  readonly options: McpCallOptions
  readonly end: Deferred.Deferred<JsonObject, McpSessionError>
}

/** Published tasks over tasks that the test drives, by their ids in the order of their starts. */
const makeTasks = Effect.gen(function* () {
  const running = new Map<string, Running>()
  const found: Array<string> = []
  const cancelled: Array<string> = []
  const toTask = Effect.fnUntraced(function* (id: string, options: McpCallOptions) {
    const end = running.get(id)?.end ?? (yield* Deferred.make<JsonObject, McpSessionError>())
    running.set(id, { options, end })
    const createdAt = yield* Effect.clockWith(({ currentTimeMillis }) => currentTimeMillis)
    const cancel = Effect.andThen(
      Effect.sync(() => void cancelled.push(id)),
      Deferred.succeed(end, { content: [], isError: true })
    )
    return { id, createdAt, result: Deferred.await(end), cancel: Effect.asVoid(cancel) }
  })
  const published = yield* makePublishedTasks({
    start: (name, _, options = {}) =>
      name === "quick" ? Effect.undefined : Effect.suspend(() => toTask(`t${running.size + 1}`, options)),
    // The Computer of the task replies later.
    find: Effect.fnUntraced(function* (id, options = {}) {
      found.push(id)
      yield* Effect.yieldNow
      if (id !== "never") return yield* toTask(id, options)
      return yield* new McpSessionError({ reason: "protocol", code: -32602, message: "unknown" })
    })
  })
  const { callModern, get, startLegacy } = published
  return {
    ...published,
    found,
    cancelled,
    running: (id: string) => running.get(id)?.options ?? {},
    end: Effect.fnUntraced(function* (id: string, exit: Exit.Exit<JsonObject, McpSessionError> = Exit.succeed(done)) {
      const task = running.get(id)
      if (task !== undefined) yield* Deferred.done(task.end, exit)
      yield* TestClock.adjust(0)
    }),
    state: (id: string, era: "legacy" | "modern" = "modern") => get({ taskId: id }, era, ["form"]),
    startLegacy: (name = "work") => startLegacy(name, {}, ["form"]),
    call: (sendProgress?: (step: McpProgress) => Effect.Effect<void>) =>
      Effect.forkChild(callModern("work", {}, ["form"], sendProgress), { startImmediately: true })
  }
})

/** A test of published tasks, in virtual time. */
const withTasks = effectWith(makeTasks)

const iso = (millis: number) => new Date(millis).toISOString()

describe("a published task", () => {
  withTasks("has the times of its start and of its end", function* ({ end, startLegacy, state }) {
    yield* TestClock.adjust("1 second")
    yield* startLegacy()
    assert.deepInclude(yield* state("t1"), { createdAt: iso(1000), lastUpdatedAt: iso(1000) })
    yield* TestClock.adjust("4 seconds")
    yield* end("t1")
    yield* TestClock.adjust("4 seconds")
    assert.deepInclude(yield* state("t1"), { createdAt: iso(1000), lastUpdatedAt: iso(5000), status: "completed" })
  })

  withTasks("has the time of its latest progress", function* ({ running, startLegacy, state }) {
    yield* startLegacy()
    yield* TestClock.adjust("2 seconds")
    yield* running("t1").onProgress?.({ progress: 1, total: 2, message: "half" }) ?? Effect.void
    assert.deepInclude(yield* state("t1"), { lastUpdatedAt: iso(2000), statusMessage: "half: 1 of 2" })
  })

  withTasks("has the times of its question and of the answer", function* ({ running, startLegacy, state, update }) {
    yield* startLegacy()
    yield* TestClock.adjust("2 seconds")
    const { responder } = running("t1")
    yield* Effect.forkChild(responder?.answer({ mode: "form", message: "who?", schema: form }) ?? Effect.never, {
      startImmediately: true
    })
    const asking = yield* state("t1")
    assert.deepInclude(asking, { lastUpdatedAt: iso(2000), status: "input_required" })
    yield* TestClock.adjust("3 seconds")
    const [question = ""] = Object.keys(asObject(asking["inputRequests"]))
    yield* update({ taskId: "t1" }, { [question]: { action: "decline" } }, ["form"])
    assert.deepInclude(yield* state("t1"), { lastUpdatedAt: iso(5000), status: "working" })
  })

  withTasks(
    "asks its question again when the request that asked it ends without an answer",
    function* ({ result, running, startLegacy }) {
      yield* startLegacy()
      const answering = yield* Effect.forkChild(
        running("t1").responder?.answer({ mode: "form", message: "who?", schema: form }) ?? Effect.never,
        { startImmediately: true }
      )
      const answersWith = (answer: InputResponder["answer"]) =>
        Effect.forkChild(result({ taskId: "t1" }, { modes: ["form"], answer }), { startImmediately: true })
      const lost = yield* answersWith(() => Effect.never)
      yield* TestClock.adjust(0)
      yield* Fiber.interrupt(lost)
      yield* answersWith(() => Effect.succeed({ action: "decline" }))
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(answering.pollUnsafe(), Exit.succeed({ action: "decline" }))
    }
  )

  withTasks("works on once another responder has answered its question", function* ({ running, startLegacy, state }) {
    yield* startLegacy()
    const question = running("t1").responder?.answer({ mode: "form", message: "who?", schema: form }) ?? Effect.never
    const asking = yield* Effect.forkChild(question, { startImmediately: true })
    assert.deepInclude(yield* state("t1"), { status: "input_required" })
    yield* Fiber.interrupt(asking)
    assert.deepInclude(yield* state("t1"), { status: "working" })
  })

  withTasks("states how long it exists, and the pause between polls, in both eras", function* ({ startLegacy, state }) {
    yield* startLegacy()
    const millis = bounds.hours * 3_600_000
    assert.deepInclude(yield* state("t1", "legacy"), { ttl: millis, pollInterval: 1000 })
    assert.deepInclude(yield* state("t1", "modern"), { ttlMs: millis, pollIntervalMs: 1000 })
  })
})

describe("a call that may become a task", () => {
  withTasks("gives its result within five seconds, and is a task no more", function* ({ call, end, found, state }) {
    const calling = yield* call()
    yield* TestClock.adjust("4999 millis")
    yield* end("t1")
    assert.deepStrictEqual(yield* Fiber.join(calling), done)
    yield* state("t1")
    assert.deepStrictEqual(found, ["t1"])
  })

  withTasks("is a task after five seconds", function* ({ call }) {
    const calling = yield* call()
    yield* TestClock.adjust("4999 millis")
    assert.isUndefined(calling.pollUnsafe())
    yield* TestClock.adjust("1 millis")
    assert.deepInclude(yield* Fiber.join(calling), { resultType: "task", taskId: "t1", status: "working" })
  })

  withTasks("is a task once it asks", function* ({ call, running }) {
    const calling = yield* call()
    yield* Effect.forkChild(
      running("t1").responder?.answer({ mode: "form", message: "who?", schema: form }) ?? Effect.never,
      { startImmediately: true }
    )
    yield* TestClock.adjust(0)
    assert.deepInclude(yield* Fiber.join(calling), { resultType: "task", status: "input_required" })
  })

  withTasks("sends its progress to the request that waits, and none after its answer", function* ({ call, running }) {
    const sent: Array<number> = []
    const calling = yield* call(({ progress }) => Effect.sync(() => void sent.push(progress)))
    const report = (progress: number) => running("t1").onProgress?.({ progress }) ?? Effect.void
    yield* report(1)
    yield* TestClock.adjust("5 seconds")
    yield* Fiber.join(calling)
    yield* report(2)
    assert.deepStrictEqual(sent, [1])
  })

  withTasks("is cancelled with its request, and not once it is a task", function* ({ call, cancelled }) {
    const [first, second] = [yield* call(), yield* call()]
    yield* Fiber.interrupt(first)
    assert.deepStrictEqual(cancelled, ["t1"])
    yield* TestClock.adjust("5 seconds")
    yield* Fiber.join(second)
    assert.deepStrictEqual(cancelled, ["t1"])
  })

  withTasks("fails with the error of its call", function* ({ call, end }) {
    const calling = yield* Effect.forkChild(Effect.flip(Fiber.join(yield* call())))
    const error = new McpSessionError({ reason: "protocol", code: -32001, message: "broken" })
    yield* end("t1", Exit.fail(error))
    assert.strictEqual(yield* Fiber.join(calling), error)
  })
})

describe("the end of a published task", () => {
  it.effect.each(["legacy", "modern"] as const)("is its failure (%s)", (era) =>
    Effect.gen(function* () {
      const { end, startLegacy, state } = yield* makeTasks
      yield* startLegacy()
      yield* end("t1", Exit.fail(new McpSessionError({ reason: "protocol", code: -32001, message: "broken" })))
      const ended = yield* state("t1", era)
      assert.strictEqual(ended["status"], "failed")
      if (era === "modern") assert.deepStrictEqual(ended["error"], { code: -32001, message: "broken" })
    })
  )

  withTasks("is a cancellation by its client", function* ({ cancel, startLegacy, state }) {
    yield* startLegacy()
    yield* cancel({ taskId: "t1" }, "modern")
    assert.strictEqual((yield* state("t1"))["status"], "cancelled")
    // A later cancellation changes nothing.
    assert.deepStrictEqual(yield* cancel({ taskId: "t1" }, "modern"), {})
    assert.strictEqual((yield* Effect.flip(cancel({ taskId: "t1" }, "legacy"))).code, -32602)
  })

  it.effect("is a cancellation for the client that cancels, once the call has ended", () =>
    Effect.gen(function* () {
      const end = yield* Deferred.make<JsonObject>()
      const task = { id: "t1", createdAt: 0, result: Deferred.await(end), cancel: Effect.void }
      const { cancel, startLegacy } = yield* makePublishedTasks({
        start: () => Effect.succeed(task),
        find: () => Effect.die("not started")
      })
      yield* startLegacy("work", {}, [])
      const cancelling = yield* Effect.forkChild(cancel({ taskId: "t1" }, "legacy"), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(cancelling.pollUnsafe())
      yield* Deferred.succeed(end, { content: [], isError: true })
      assert.deepInclude(yield* Fiber.join(cancelling), { taskId: "t1", status: "cancelled" })
    })
  )

  withTasks(
    "is its completion also where a client cancels afterwards",
    function* ({ cancel, cancelled, end, startLegacy, state }) {
      yield* startLegacy()
      yield* end("t1")
      yield* cancel({ taskId: "t1" }, "modern")
      assert.deepStrictEqual([(yield* state("t1"))["status"], cancelled], ["completed", []])
    }
  )

  withTasks("keeps the metadata of its result beside the id of the task", function* ({ end, result, startLegacy }) {
    yield* startLegacy()
    yield* end("t1")
    const given = yield* result({ taskId: "t1" }, { modes: [], answer: () => Effect.never })
    const related = { "io.modelcontextprotocol/related-task": { taskId: "t1" } }
    assert.deepStrictEqual(given, { ...done, _meta: { mine: 1, ...related } })
  })
})

describe("a task that a published office follows", () => {
  withTasks(
    "is neither one that its session does not know, nor a tool that runs at once only",
    function* ({ callModern, startLegacy, state }) {
      for (const era of ["legacy", "modern"] as const) {
        assert.strictEqual((yield* Effect.flip(state("never", era))).code, -32602)
      }
      assert.strictEqual((yield* Effect.flip(startLegacy("quick"))).code, -32601)
      assert.isUndefined(yield* callModern("quick", {}, ["form"], undefined))
    }
  )

  withTasks("is found once for all requests of clients", function* ({ found, state }) {
    yield* state("earlier")
    yield* state("earlier")
    assert.deepStrictEqual(found, ["earlier"])
  })

  withTasks("asks questions of the kinds that the client answers which finds it", function* ({ get, running }) {
    yield* get({ taskId: "earlier" }, "modern", ["url"])
    assert.deepStrictEqual(running("earlier").responder?.modes, ["url"])
  })

  withTasks("gives its result to two requests that find it at the same time", function* ({ end, result }) {
    const waiting = yield* Effect.forEach([1, 2], () =>
      Effect.forkChild(result({ taskId: "earlier" }, { modes: [], answer: () => Effect.never }))
    )
    yield* TestClock.adjust(0)
    yield* end("earlier")
    const results = yield* Effect.forEach(waiting, Fiber.join)
    assert.deepStrictEqual(
      results.map((given: JsonObject) => given["content"]),
      [done["content"], done["content"]]
    )
  })

  withTasks(`is dropped ${bounds.hours} hours after its end`, function* ({ end, found, startLegacy, state }) {
    yield* startLegacy()
    yield* end("t1")
    yield* TestClock.adjust("7199999 millis")
    yield* startLegacy()
    yield* state("t1")
    assert.deepStrictEqual(found, [])
    yield* TestClock.adjust("1 millis")
    yield* startLegacy()
    yield* state("t1")
    assert.deepStrictEqual(found, ["t1"])
  })

  withTasks(
    `is kept after its end, also when it ran for more than ${bounds.hours} hours`,
    function* ({ end, found, startLegacy, state }) {
      yield* startLegacy()
      yield* TestClock.adjust("3 hours")
      yield* end("t1")
      yield* startLegacy()
      assert.strictEqual((yield* state("t1"))["status"], "completed")
      assert.deepStrictEqual(found, [])
    }
  )

  withTasks("is kept while it runs", function* ({ found, startLegacy, state }) {
    yield* startLegacy()
    yield* TestClock.adjust("3 hours")
    yield* startLegacy()
    yield* state("t1")
    assert.deepStrictEqual(found, [])
  })

  withTasks(
    `is dropped for a further one above ${bounds.followed} once it has ended`,
    function* ({ end, found, startLegacy, state }) {
      yield* Effect.forEach(Array.from({ length: bounds.followed - 1 }), () => startLegacy(), { discard: true })
      yield* end("t2")
      yield* startLegacy()
      yield* state("t2")
      assert.deepStrictEqual(found, [])
      yield* startLegacy()
      yield* state("t1")
      yield* state("t2")
      assert.deepStrictEqual(found, ["t2"])
    }
  )
})
