import { assert, describe, it } from "@effect/vitest"
import { type Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type AgentError, Disconnected, ServerTimeout } from "../../../../src/application/agent/AgentErrors.ts"
import { makeCallStatuses } from "../../../../src/application/agent/callStatuses.ts"
import { makeLocalTasks } from "../../../../src/application/agent/tasks/localTasks.ts"
import { makeToolTask } from "../../../../src/application/agent/tasks/toolTasks.ts"
import { McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import type { CallStatus } from "../../../../src/domain/model/CallStatus.ts"
import type { ToolResult } from "../../../../src/domain/model/ToolResult.ts"
import { ProtocolError } from "../../../../src/domain/model/ProtocolError.ts"
import { lineNamed } from "../../../../src/domain/wire/lines.ts"

const line = lineNamed("0.2")
const finished: ToolResult = { content: [{ type: "text", text: "done" }], isError: false }

const view = (state: string, version: number, more: JsonObject = {}): JsonObject => ({
  tool: "work",
  state,
  version,
  createdAt: 0,
  updatedAt: 0,
  ...more
})
const done = view("completed", 9, { result: { content: [{ type: "text", text: "done" }], isError: false } })

type Answer = JsonObject | AgentError | McpSessionError
type Request = readonly [method: string, params: JsonObject, timeout: number | undefined]

const isError = (answer: Answer): answer is AgentError | McpSessionError => "_tag" in answer

/** A task at a Computer that gives these answers, each at once or after a time, and the requests that it received. */
const scripted = (
  script: ReadonlyArray<Answer | readonly [after: Duration.Input, answer: Answer]>,
  statuses = makeCallStatuses()
) => {
  const left = [...script]
  const sent: Array<Request> = []
  const received: Array<CallStatus> = []
  const task = makeToolTask({
    line,
    statuses,
    send: (method, params, timeout) =>
      Effect.gen(function* () {
        sent.push([method, params, timeout])
        const next = left.shift() ?? done
        const [after, answer] = Array.isArray(next) ? (next as [Duration.Input, Answer]) : [0, next as Answer]
        yield* Effect.sleep(after)
        return isError(answer) ? yield* answer : answer
      }),
    restore: (result) => Effect.succeed({ ...result, meta: { restored: true } }),
    computer: "desk",
    id: "t",
    receiver: Effect.succeed((status) => Effect.sync(() => void received.push(status)))
  })
  return { task, sent, received }
}

const lost = new Disconnected({ message: "gone" })
const rejected = (code: number) => new ProtocolError({ code, message: `code ${code}` })

/** Rejections of this code until a time has passed, one each second. */
const awayFor = (seconds: number, answer: Answer = lost): ReadonlyArray<Answer> =>
  Array.from({ length: seconds }, () => answer)

describe("the result of a task", () => {
  it.effect("is awaited through an absence of its Computer of less than ten minutes", () =>
    Effect.gen(function* () {
      const waiting = yield* Effect.forkChild(scripted(awayFor(600)).task.result)
      yield* TestClock.adjust("599 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(waiting)).isError, false)
    })
  )

  it.effect("fails once the Computer was away for ten minutes", () =>
    Effect.gen(function* () {
      const waiting = yield* Effect.forkChild(Effect.flip(scripted(awayFor(601)).task.result))
      yield* TestClock.adjust("599 seconds")
      assert.isUndefined(waiting.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(waiting))._tag, "Disconnected")
    })
  )

  it.effect("counts the time of each absence separately", () =>
    Effect.gen(function* () {
      const script = [...awayFor(400), view("working", 1), ...awayFor(400), view("working", 2), ...awayFor(400)]
      const waiting = yield* Effect.forkChild(scripted(script).task.result)
      yield* TestClock.adjust("20 minutes")
      assert.strictEqual((yield* Fiber.join(waiting)).isError, false)
    })
  )

  it.effect.each([
    lost,
    new ServerTimeout({ message: "no reply" }),
    rejected(404),
    rejected(408),
    rejected(429),
    rejected(503),
    rejected(4103)
  ])("is asked for again after %s", (error) =>
    Effect.gen(function* () {
      const { sent, task } = scripted([error])
      const waiting = yield* Effect.forkChild(task.result)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(waiting)
      assert.strictEqual(sent.length, 2)
    })
  )

  it.effect.each([rejected(400), rejected(403), rejected(500)])("fails at once after %s", (error) =>
    Effect.gen(function* () {
      const { sent, task } = scripted([error])
      assert.strictEqual(yield* Effect.flip(task.result), error)
      assert.strictEqual(sent.length, 1)
    })
  )

  it.effect("fails at once as lost where the Computer does not know the task", () =>
    Effect.gen(function* () {
      const unknown = new McpSessionError({ reason: "protocol", code: -32602, message: "unknown" })
      const { sent, task } = scripted([unknown])
      assert.deepInclude(yield* Effect.flip(task.result), { _tag: "TaskLost", computer: "desk", message: "unknown" })
      assert.strictEqual(sent.length, 1)
    })
  )

  it.effect("is asked for with the version that was seen, and waits 20 seconds at the Computer", () =>
    Effect.gen(function* () {
      const { sent, task } = scripted([view("working", 3), done])
      yield* task.result
      const wait = { id: "t", wait: 20 }
      assert.deepStrictEqual(sent, [
        ["tasks/get", { ...wait, seen: 0 }, 20],
        ["tasks/get", { ...wait, seen: 3 }, 20]
      ])
    })
  )

  it.effect("has the blobs of the result", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* scripted([done]).task.result).meta, { restored: true })
    })
  )
})

const reportOf = (status: CallStatus): JsonObject => ({
  report: line.encodeCallStatus({ reqId: "t", status }) as JsonObject
})
const waitingFor = (id: string) =>
  reportOf({
    _tag: "WaitingForConsent",
    computer: "desk",
    approval: { id, server: "s", tool: "work", waitSeconds: 60 }
  })

describe("the latest status of a task", () => {
  it.effect("is passed on once for all its reports", () =>
    Effect.gen(function* () {
      const progress = (step: number) => reportOf({ _tag: "Progressing", computer: "desk", progress: step })
      const script = [view("working", 1, progress(1)), view("working", 2, progress(1)), view("working", 3, progress(2))]
      const { received, task } = scripted(script)
      yield* task.result
      assert.deepStrictEqual(
        received.map((status) => status._tag === "Progressing" && status.progress),
        [1, 2]
      )
    })
  )

  it.effect("tells of the approval for which it waits, and of the end of the wait", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const note = (what: string) => (which: string) => Effect.sync(() => void seen.push(`${what} ${which}`))
      const statuses = makeCallStatuses({
        onWait: ({ id }) => note("waits")(id),
        onDecided: note("decided"),
        onEnd: note("ended")
      })
      yield* scripted([view("working", 1, waitingFor("a1"))], statuses).task.result
      assert.deepStrictEqual(seen, ["waits a1", "ended a1"])
    })
  )
})

describe("the state of a task", () => {
  it.effect.each(["working", "completed", "cancelled"] as const)("has all that its Computer tells: %s", (state) =>
    Effect.gen(function* () {
      const latest = { _tag: "Progressing", computer: "desk", progress: 1 } as const
      const { sent, task } = scripted([view(state, 4, { createdAt: 5, updatedAt: 9, ...reportOf(latest) })])
      assert.deepStrictEqual(yield* task.status, { tool: "work", state, createdAt: 5, updatedAt: 9, latest })
      assert.deepStrictEqual(sent, [["tasks/get", { id: "t" }, undefined]])
    })
  )
})

describe("the latest status of a task after an absence", () => {
  it.effect("tells again of the approval for which it waits", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const statuses = makeCallStatuses({
        onWait: ({ id }) => Effect.sync(() => void seen.push(id)),
        onDecided: () => Effect.void,
        onEnd: () => Effect.void
      })
      const waits = view("working", 2, waitingFor("a1"))
      const { sent, task } = scripted([waits, lost, waits], statuses)
      const waiting = yield* Effect.forkChild(task.result)
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(seen, ["a1", "a1"])
      assert.deepStrictEqual(
        sent.map(([, { seen: version }]) => version),
        [0, 2, 0, 2]
      )
    })
  )
})

describe("a task at a Computer that runs none", () => {
  const started = Effect.gen(function* () {
    const statuses: Array<(status: CallStatus) => Effect.Effect<void>> = []
    const start = yield* makeLocalTasks(({ onStatus }) => {
      if (onStatus !== undefined) statuses.push(onStatus)
      return Effect.delay(Effect.succeed({ content: [], isError: false }), "10 seconds")
    })
    yield* TestClock.adjust("1 second")
    const received: Array<CallStatus> = []
    const onStatus = (status: CallStatus) => Effect.sync(() => void received.push(status))
    const task = yield* start({ computer: "desk", tool: "work", onStatus })
    yield* TestClock.adjust(0)
    const report = (status: CallStatus) => Effect.forEach(statuses, (receive) => receive(status), { discard: true })
    return { task, received, report }
  })

  it.effect("has the times of its start and of its end", () =>
    Effect.gen(function* () {
      const { task } = yield* started
      assert.deepInclude(yield* task.status, { state: "working", createdAt: 1000, updatedAt: 1000 })
      yield* TestClock.adjust("60 seconds")
      assert.deepInclude(yield* task.status, { state: "completed", createdAt: 1000, updatedAt: 11_000 })
    })
  )

  it.effect("has the latest status and its time", () =>
    Effect.gen(function* () {
      const { report, task } = yield* started
      yield* TestClock.adjust("4 seconds")
      const status: CallStatus = { _tag: "Progressing", computer: "desk", progress: 1 }
      yield* report(status)
      assert.deepInclude(yield* task.status, { latest: status, updatedAt: 5000 })
    })
  )

  it.effect("passes its statuses on", () =>
    Effect.gen(function* () {
      const { received, report } = yield* started
      const status: CallStatus = { _tag: "Progressing", computer: "desk", progress: 1 }
      yield* report(status)
      assert.deepStrictEqual(received, [status])
    })
  )

  it.effect("is cancelled by its handle", () =>
    Effect.gen(function* () {
      const { task } = yield* started
      yield* task.cancel
      assert.strictEqual((yield* task.status).state, "cancelled")
      assert.strictEqual((yield* task.result).meta?.["a2c_cancelled"], true)
    })
  )

  it.effect("says that it ends with its Agent", () =>
    Effect.map(started, ({ task }) => assert.isTrue(task.endsWithAgent))
  )

  it.effect("has its tool, and fails as its call does", () =>
    Effect.gen(function* () {
      const start = yield* makeLocalTasks(() => Effect.fail(lost))
      const { computer, id, result, status } = yield* start({ computer: "desk", tool: "work" })
      assert.deepStrictEqual([computer, (yield* Effect.flip(result)) === lost], ["desk", true])
      assert.deepStrictEqual(yield* status, { tool: "work", state: "completed", createdAt: 0, updatedAt: 0 })
      assert.notStrictEqual((yield* start({ computer: "desk", tool: "work" })).id, id)
    })
  )

  it.effect("passes the whole call on", () =>
    Effect.gen(function* () {
      const calls: Array<unknown> = []
      const start = yield* makeLocalTasks(({ onStatus: _, ...call }) => {
        calls.push(call)
        return Effect.never
      })
      const call = { computer: "desk", tool: "work", params: { a: 1 }, timeout: 7, inputModes: ["url"] } as const
      yield* start(call)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(calls, [call])
    })
  )

  it.effect("is cancelled alone, and gives its end to all who wait", () =>
    Effect.gen(function* () {
      const start = yield* makeLocalTasks(({ tool }) => (tool === "quick" ? Effect.succeed(finished) : Effect.never))
      const [one, other] = [
        yield* start({ computer: "desk", tool: "work" }),
        yield* start({ computer: "desk", tool: "work" })
      ]
      const waiting = yield* Effect.forEach([1, 2], () => Effect.forkChild(one.result))
      yield* TestClock.adjust(0)
      yield* one.cancel
      const results = yield* Effect.forEach(waiting, Fiber.join)
      assert.deepStrictEqual(
        results.map(({ meta }) => meta?.["a2c_cancelled"]),
        [true, true]
      )
      assert.deepStrictEqual([(yield* one.status).state, (yield* other.status).state], ["cancelled", "working"])
      const quick = yield* start({ computer: "desk", tool: "quick" })
      yield* TestClock.adjust(0)
      yield* quick.cancel
      assert.deepStrictEqual([yield* quick.result, (yield* quick.status).state], [finished, "completed"])
    })
  )
})
