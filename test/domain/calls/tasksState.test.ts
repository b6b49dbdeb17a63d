import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { officeCaller } from "../../../src/domain/approvals/Caller.ts"
import {
  isHeldBy,
  taskKey,
  type TasksEvent,
  type TasksState,
  transitionTasks
} from "../../../src/domain/calls/tasksState.ts"
import type { CallStatus } from "../../../src/domain/model/CallStatus.ts"
import type { ToolResult } from "../../../src/domain/model/ToolResult.ts"

const hour = 60 * 60 * 1000

const ada = officeCaller("ada", 1, true)
const laterAda = officeCaller("ada", 2, true)
const bob = officeCaller("bob", 1, true)

const key = taskKey(ada, "t")

const status: CallStatus = { _tag: "WaitingForConsent", computer: "pc" }

const resultOf = (text: string): ToolResult => ({ content: [{ type: "text", text }], isError: false })
const result = resultOf("done")

type Act = TasksEvent extends infer E ? (E extends TasksEvent ? Omit<E, "key" | "at"> : never) : never

const at = (time: number, act: Act, of = key): TasksEvent => ({ ...act, key: of, at: time }) as TasksEvent

const started: Act = { _tag: "Started", caller: ada, tool: "work", fingerprint: "f" }
const completed: Act = { _tag: "Completed", result }

const run = (...events: ReadonlyArray<TasksEvent>) =>
  events.reduce<TasksState>((tasks, event) => transitionTasks(tasks, event)[0], new Map())

const stateIn = (tasks: TasksState, of = key) => tasks.get(of)?.state

/** What an event leads to: the command, with the code of a rejection, then the state and the version of the task. */
const outcomeOf = (tasks: TasksState, event: TasksEvent) => {
  const [next, command] = transitionTasks(tasks, event)
  const { state = "unknown", version = 0 } = stateIn(next, event.key) ?? {}
  return [command._tag === "Reject" ? command.error.code : command._tag, state, version]
}

describe("transitionTasks", () => {
  const unknown = run()
  const working = run(at(1, started))
  const reported = run(at(1, started), at(2, { _tag: "Reported", status }))
  const ended = run(at(1, started), at(3, completed))
  const cancelled = run(at(1, started), at(3, { _tag: "Cancelled" }))
  const requested: Act = { _tag: "Requested", caller: ada }

  it.each<[string, TasksState, TasksEvent, ReadonlyArray<unknown>]>([
    ["starts an unknown task", unknown, at(1, started), ["Run", "working", 1]],
    ["knows no task before its start", unknown, at(1, requested), [404, "unknown", 0]],
    ["ignores a status of an unknown task", unknown, at(1, { _tag: "Reported", status }), [404, "unknown", 0]],
    ["ignores the result of an unknown task", unknown, at(1, completed), [404, "unknown", 0]],
    ["cancels no unknown task", unknown, at(1, { _tag: "Cancelled" }), [404, "unknown", 0]],
    ["joins a running task", working, at(2, started), ["Show", "working", 1]],
    ["rejects the id of another call", working, at(2, { ...started, fingerprint: "g" }), [400, "working", 1]],
    ["shows a running task", working, at(2, requested), ["Show", "working", 1]],
    ["reports a status", working, at(2, { _tag: "Reported", status }), ["Show", "working", 2]],
    ["completes a running task", working, at(2, completed), ["Show", "completed", 2]],
    ["completes a task that has reported", reported, at(3, completed), ["Show", "completed", 3]],
    ["cancels a running task", working, at(2, { _tag: "Cancelled" }), ["Show", "cancelled", 2]],
    ["joins a completed task", ended, at(4, started), ["Show", "completed", 2]],
    [
      "rejects the id of another call after its end",
      ended,
      at(4, { ...started, fingerprint: "" }),
      [400, "completed", 2]
    ],
    ["shows a completed task", ended, at(4, requested), ["Show", "completed", 2]],
    ["ignores a status after the result", ended, at(4, { _tag: "Reported", status }), ["Show", "completed", 2]],
    ["keeps the first result", ended, at(4, { ...completed, result: resultOf("x") }), ["Show", "completed", 2]],
    ["cancels no completed task", ended, at(4, { _tag: "Cancelled" }), ["Show", "completed", 2]],
    ["ignores a result after the cancellation", cancelled, at(4, completed), ["Show", "cancelled", 2]],
    ["joins a cancelled task", cancelled, at(4, started), ["Show", "cancelled", 2]],
    ["shows a completed task within the hour", ended, at(hour + 2, requested), ["Show", "completed", 2]],
    ["forgets a completed task after an hour", ended, at(hour + 3, requested), [404, "unknown", 0]],
    ["starts a forgotten task again", ended, at(hour + 3, started), ["Run", "working", 1]],
    ["forgets a cancelled task after an hour", cancelled, at(hour + 3, requested), [404, "unknown", 0]],
    ["keeps a running task after an hour", working, at(hour + 3, requested), ["Show", "working", 1]]
  ])("%s", (_, tasks, event, outcome) => {
    assert.deepStrictEqual(outcomeOf(tasks, event), outcome)
  })

  it("states the times, the status and the result", () => {
    const base = { tool: "work", createdAt: 1 }
    const reportedState = { ...base, state: "working", version: 2, updatedAt: 2, status }
    assert.deepStrictEqual<unknown>(stateIn(working), { ...base, state: "working", version: 1, updatedAt: 1 })
    assert.deepStrictEqual<unknown>(stateIn(reported), reportedState)
    const [next, command] = transitionTasks(reported, at(3, completed))
    const end = { ...reportedState, state: "completed", version: 3, updatedAt: 3, result }
    assert.deepStrictEqual<unknown>([stateIn(next), command], [end, { _tag: "Show", state: end }])
  })

  it("tells why it rejects", () => {
    const messageOf = (tasks: TasksState, event: TasksEvent) => {
      const [, command] = transitionTasks(tasks, event)
      return command._tag === "Reject" ? command.error.message : undefined
    }
    assert.strictEqual(messageOf(working, at(2, { ...started, fingerprint: "g" })), "This id was used for another call")
    assert.include(messageOf(unknown, at(2, requested)), "does not know this task")
  })

  const many = (count: number, act: Act) =>
    Array.from({ length: count }, (_, index) => {
      const of = taskKey(ada, `t${index}`)
      return [at(index, started, of), at(index, act, of)]
    }).flat()

  it("runs 64 tasks, and a further one after the end of one", () => {
    const full = run(...many(64, { _tag: "Reported", status }))
    assert.deepStrictEqual(outcomeOf(full, at(99, started)), [429, "unknown", 0])
    assert.deepStrictEqual(outcomeOf(full, at(99, started, taskKey(ada, "t0"))), ["Show", "working", 2])
    const one = transitionTasks(full, at(99, completed, taskKey(ada, "t7")))[0]
    assert.deepStrictEqual(outcomeOf(one, at(100, started)), ["Run", "working", 1])
  })

  it("keeps 256 tasks, and drops the oldest one for a further one", () => {
    const full = run(...many(256, completed), at(300, started))
    assert.isTrue(full.has(taskKey(ada, "t0")))
    const next = transitionTasks(full, at(301, { _tag: "Requested", caller: ada }))[0]
    assert.deepStrictEqual([next.has(taskKey(ada, "t0")), next.has(taskKey(ada, "t1")), next.size], [false, true, 256])
  })

  it("counts the characters of results, and not those of statuses", () => {
    const half = 16 * 1024 * 1024
    const large: Act = { _tag: "Completed", result: resultOf("x".repeat(half - 100)) }
    const [one, other] = [taskKey(ada, "one"), taskKey(ada, "other")]
    const both = [at(1, started, one), at(1, large, one), at(2, started, other), at(2, large, other)]
    assert.deepStrictEqual([...transitionTasks(run(...both), at(3, started))[0].keys()], [one, other, key])
    const more = run(...both, at(3, started), at(4, { ...completed, result: resultOf("x".repeat(200)) }))
    assert.deepStrictEqual(
      [...transitionTasks(more, at(5, { _tag: "Requested", caller: ada }))[0].keys()],
      [other, key]
    )
  })
})

describe("holder of a task", () => {
  const call = { caller: ada, reqId: "t" }

  it("is the caller that started it, until another membership of its name shows the id", () => {
    const tasks = run(at(1, started))
    assert.deepStrictEqual([isHeldBy(tasks, ada, call), isHeldBy(tasks, laterAda, call)], [true, false])
    for (const event of [at(2, { _tag: "Requested", caller: laterAda }), at(2, { ...started, caller: laterAda })]) {
      const shown = transitionTasks(tasks, event)[0]
      assert.deepStrictEqual([isHeldBy(shown, ada, call), isHeldBy(shown, laterAda, call)], [false, true])
    }
  })

  it("holds the call of the task alone", () => {
    const tasks = run(at(1, started))
    assert.isFalse(isHeldBy(tasks, bob, call))
    assert.isFalse(isHeldBy(tasks, ada, { ...call, reqId: "u" }))
    assert.isFalse(isHeldBy(tasks, ada, { ...call, caller: laterAda }))
  })
})

const Step = Schema.Literals(["start", "other", "request", "report", "complete", "cancel"])

describe("task", () => {
  it.prop("never changes after its end, and its version never decreases", [Schema.Array(Step)], ([steps]) => {
    const acts: { readonly [S in typeof Step.Type]: Act } = {
      start: started,
      other: { ...started, fingerprint: "g" },
      request: { _tag: "Requested", caller: laterAda },
      report: { _tag: "Reported", status },
      complete: completed,
      cancel: { _tag: "Cancelled" }
    }
    let tasks: TasksState = new Map()
    for (const [time, step] of steps.entries()) {
      const before = stateIn(tasks)
      tasks = transitionTasks(tasks, at(time, acts[step]))[0]
      const after = stateIn(tasks)
      if (before === undefined) continue
      if (before.state === "working") assert.isAtLeast(after?.version ?? 0, before.version)
      else assert.strictEqual(after, before)
    }
  })
})
