import { assert, describe, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Result, Schema } from "effect"
import { TestClock } from "effect/testing"
import { type CallTasks, makeCallTasks } from "../../../../src/application/computer/calls/CallTasks.ts"
import type { TaskState } from "../../../../src/domain/calls/tasksState.ts"
import type { CallReporter } from "../../../../src/application/computer/calls/Call.ts"
import { officeCaller } from "../../../../src/domain/approvals/Caller.ts"

/** What an Agent or the tool does, and when: many steps fall into the same second. */
const Step = Schema.Struct({
  act: Schema.Literals(["start", "start", "poll", "poll", "cancel", "progress", "finish", "other call"]),
  at: Schema.Literals([0, 1, 1, 2, 2, 3])
})
type Step = typeof Step.Type

const ada = officeCaller("ada", 1, true)

interface Race {
  readonly runs: number
  /** The states in the order in which the Agent saw them. */
  readonly seen: ReadonlyArray<TaskState>
  readonly rejections: ReadonlyArray<number>
}

type Report = CallReporter["report"]

/** Lets an Agent and a tool race for one task. `plant` changes the tasks. */
const race = Effect.fnUntraced(function* (
  steps: ReadonlyArray<Step>,
  plant: (tasks: CallTasks, rerun: () => void) => CallTasks = (tasks) => tasks
) {
  let runs = 0
  let report: Report | undefined
  const seen: Array<TaskState> = []
  const rejections: Array<number> = []
  const finished = yield* Deferred.make<void>()
  yield* Effect.gen(function* () {
    const tasks = yield* makeCallTasks((_, reporter) =>
      Effect.suspend(() => {
        runs++
        report = reporter.report
        return Effect.as(Deferred.await(finished), { content: [], isError: false })
      })
    )
    const { cancel, get, start } = plant(tasks, () => void runs++)
    const task = { caller: ada, id: "t", tool: "work", params: {}, timeout: 60 }
    const note = (state: Effect.Effect<TaskState, { readonly code: number }>) =>
      Effect.map(Effect.result(state), (outcome) => {
        if (Result.isSuccess(outcome)) seen.push(outcome.success)
        else rejections.push(outcome.failure.code)
      })
    const act = Effect.fnUntraced(function* ({ act: kind, at }: Step) {
      yield* Effect.sleep(Duration.seconds(at))
      switch (kind) {
        case "start":
          return yield* note(start(task))
        case "other call":
          return yield* note(start({ ...task, params: { other: true } }))
        case "poll":
          return yield* note(get(ada, { id: "t", seen: seen.at(-1)?.version ?? 0, wait: 1 }))
        case "cancel":
          return yield* note(cancel(ada, "t"))
        case "progress":
          return yield* report?.({ reqId: "t", status: { _tag: "Progressing", computer: "pc", progress: at } }) ??
            Effect.void
        case "finish":
          return yield* Effect.asVoid(Deferred.succeed(finished, undefined))
      }
    })
    const acting = yield* Effect.forkScoped(Effect.forEach(steps, act, { concurrency: "unbounded", discard: true }))
    yield* TestClock.adjust("10 seconds")
    yield* Fiber.join(acting)
    yield* note(get(ada, { id: "t" }))
  }).pipe(Effect.scoped)
  return { runs, seen, rejections }
})

/** The rules of tasks: it runs once at most, its versions never decrease, and nothing changes after its end. */
const findViolation = ({ rejections, runs, seen }: Race): string | undefined => {
  if (runs > 1) return `the calls ran ${runs} times`
  if (new Set(seen.map(({ createdAt }) => createdAt)).size > 1) return "there was more than one task"
  if (rejections.some((code) => ![400, 404].includes(code))) return "an error"
  const end = seen.find(({ state }) => state !== "working")
  const last = seen.at(-1)
  if (end === undefined || last === undefined) return undefined
  if (last.state !== end.state) return `${end.state} became ${last.state}`
  return last.version === end.version ? undefined : "a report came after the end"
}

describe("race for a task", () => {
  it.effect.prop(
    "runs the call once, and changes nothing after its end",
    [Schema.Array(Step).check(Schema.isMaxLength(12))],
    ([steps]) =>
      Effect.map(race(steps), (outcome) => assert.isUndefined(findViolation(outcome), JSON.stringify(outcome))),
    { arbitrary: { runs: 200 } }
  )

  const steps: ReadonlyArray<Step> = [
    { act: "start", at: 0 },
    { act: "start", at: 1 },
    { act: "finish", at: 1 },
    { act: "poll", at: 2 },
    { act: "poll", at: 3 }
  ]

  it.effect("is found faulty when a repeated start runs the call again", () =>
    Effect.gen(function* () {
      let starts = 0
      const outcome = yield* race(steps, (tasks, rerun) => ({
        ...tasks,
        start: (task) =>
          Effect.tap(tasks.start(task), () =>
            Effect.sync(() => {
              starts++
              if (starts > 1) rerun()
            })
          )
      }))
      assert.include(findViolation(outcome), "ran 2 times")
    })
  )

  it.effect("is found faulty when progress changes a task that has ended", () =>
    Effect.gen(function* () {
      const outcome = yield* race(steps, (tasks) => ({
        ...tasks,
        get: (agent, query) =>
          Effect.map(tasks.get(agent, query), (state) =>
            state.state === "completed" && query.wait === undefined ? { ...state, version: state.version + 1 } : state
          )
      }))
      assert.strictEqual(findViolation(outcome), "a report came after the end")
    })
  )
})
