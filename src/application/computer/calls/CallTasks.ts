import { Clock, Duration, Effect, Exit, FiberMap, Stream, SubscriptionRef } from "effect"
import { type Caller, callerKey, isSameCaller, type OfficeCaller } from "../../../domain/approvals/Caller.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import { type TaskQuery, taskRetention, type TaskStart } from "../../../domain/model/messages/tasks.ts"
import { badRequest, notFound, ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import { canonicalJson } from "../../../domain/json.ts"
import { estimateSize } from "./CallExecutions.ts"
import type { CallReporter } from "./CallReporter.ts"

/** Tasks of a Computer: those that run, those that are kept, and the characters of the kept results. */
const limits = { running: 64, kept: 256, characters: 32 * 1024 * 1024 }

const tooManyTasks = () =>
  new ProtocolError({ code: 429, message: `The Computer runs ${limits.running} tasks, as many as it may` })

const unknownTask = () =>
  notFound(
    "The Computer does not know this task: it left the office or restarted, or has dropped the result after an hour"
  )

/** The state of a task. Times are in milliseconds of the epoch. */
export interface TaskState {
  readonly tool: string
  readonly state: "working" | "completed" | "cancelled"
  /** Increases with every change. */
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
  readonly status?: CallStatus
  readonly result?: ToolResult
}

interface Task {
  readonly fingerprint: string
  /** The caller of its call. */
  readonly caller: OfficeCaller
  /** The latest caller that has shown the id of the task. */
  holder: OfficeCaller
  readonly state: SubscriptionRef.SubscriptionRef<TaskState>
  /** Approximate size of the result in characters. */
  size: number
}

type StartedBy = TaskStart & { readonly caller: OfficeCaller }

/** Runs the call of a task, and reports its statuses. */
type Execute = (task: StartedBy, reporter: CallReporter) => Effect.Effect<ToolResult>

/**
 * Runs calls that outlive the request, the connection and the membership of their Agent, which fetches the result by the id
 * that it chose. A repeated start joins the same call: nothing runs twice. Tasks end with the scope.
 */
export const makeCallTasks = Effect.fnUntraced(function* (execute: Execute) {
  const clock = yield* Clock.Clock
  const running = yield* FiberMap.make<string, ToolResult>()
  /** In order of their start. */
  const tasks = new Map<string, Task>()

  const keyOf = (caller: OfficeCaller, id: string) => JSON.stringify([callerKey(caller), id])
  const stateOf = ({ state }: Task) => SubscriptionRef.getUnsafe(state)
  const change = (task: Pick<Task, "state">, changed: Partial<TaskState>) =>
    SubscriptionRef.update(task.state, (state) => ({
      ...state,
      ...changed,
      version: state.version + 1,
      updatedAt: clock.currentTimeMillisUnsafe()
    }))

  /** Drops results that were kept long enough, and the oldest surplus ones. */
  const evict = () => {
    const now = clock.currentTimeMillisUnsafe()
    let characters = [...tasks.values()].reduce((sum, { size }) => sum + size, 0)
    for (const [key, task] of tasks) {
      const { state, updatedAt } = stateOf(task)
      const isOver = tasks.size > limits.kept || characters > limits.characters || now - updatedAt >= taskRetention
      if (state === "working" || !isOver) continue
      tasks.delete(key)
      characters -= task.size
    }
  }

  /** Finds a task of callers of one name by its id, which proves that it is the caller's. */
  const find = (caller: OfficeCaller, id: string) =>
    Effect.suspend(() => {
      evict()
      const task = tasks.get(keyOf(caller, id))
      if (task === undefined) return Effect.fail(unknownTask())
      task.holder = caller
      return Effect.succeed(task)
    })

  const start = Effect.fnUntraced(function* (started: StartedBy): Effect.fn.Return<TaskState, ProtocolError> {
    evict()
    const { caller, id, params, tool } = started
    const key = keyOf(caller, id)
    const fingerprint = canonicalJson({ tool, params })
    const existing = tasks.get(key)
    if (existing !== undefined) {
      if (existing.fingerprint !== fingerprint) return yield* badRequest("This id was used for another call")
      existing.holder = caller
      return stateOf(existing)
    }
    if ((yield* FiberMap.size(running)) >= limits.running) return yield* tooManyTasks()
    const now = clock.currentTimeMillisUnsafe()
    const state = yield* SubscriptionRef.make<TaskState>({
      tool,
      state: "working",
      version: 1,
      createdAt: now,
      updatedAt: now
    })
    // Progress can arrive after the result.
    const report: CallReporter["report"] = ({ status }) =>
      Effect.suspend(() =>
        SubscriptionRef.getUnsafe(state).state === "working" ? change({ state }, { status }) : Effect.void
      )
    // Nothing bounds how long the Agent waits for a task.
    const reporter: CallReporter = { report, announceWait: (reported) => Effect.as(report(reported), true) }
    const execution = execute(started, reporter).pipe(
      Effect.onExit((exit) =>
        Effect.suspend(() => {
          const task = tasks.get(key)
          if (task !== undefined && Exit.isSuccess(exit)) task.size = estimateSize(exit.value)
          return change(
            { state },
            Exit.isSuccess(exit) ? { state: "completed", result: exit.value } : { state: "cancelled" }
          )
        })
      )
    )
    // Registered before it starts: its first steps may report.
    yield* FiberMap.run(running, key, execution, { startImmediately: false })
    tasks.set(key, { fingerprint, caller, holder: caller, state, size: 0 })
    return yield* SubscriptionRef.get(state)
  }, Effect.uninterruptible)

  return {
    start,
    /** The state of a task: at once, or after the version that the Agent has seen, for the time that it waits. */
    get: Effect.fnUntraced(function* (
      caller: OfficeCaller,
      { id, seen = 0, wait = 0 }: TaskQuery
    ): Effect.fn.Return<TaskState, ProtocolError> {
      const task = yield* find(caller, id)
      const changed = SubscriptionRef.changes(task.state).pipe(
        Stream.filter(({ version }) => version > seen),
        Stream.runHead
      )
      if (wait > 0) yield* Effect.timeoutOption(changed, Duration.seconds(wait))
      return stateOf(task)
    }),
    /** Cancels a task, unless it has ended. */
    cancel: Effect.fnUntraced(function* (caller: OfficeCaller, id: string): Effect.fn.Return<TaskState, ProtocolError> {
      const task = yield* find(caller, id)
      yield* FiberMap.remove(running, keyOf(caller, id))
      // A call that has not begun ends without a change of its state.
      if (stateOf(task).state === "working") yield* change(task, { state: "cancelled" })
      return stateOf(task)
    }),
    /**
     * True when a call is that of a task, by its caller and id, and this caller has started the task, or shown its id since.
     * Other callers may choose the same id.
     */
    isHeldBy: (holder: OfficeCaller, call: { readonly caller: Caller; readonly reqId: string }): boolean => {
      const task = tasks.get(keyOf(holder, call.reqId))
      return task !== undefined && isSameCaller(task.holder, holder) && isSameCaller(task.caller, call.caller)
    },
    /** Cancels and forgets all tasks. */
    reset: Effect.andThen(
      FiberMap.clear(running),
      Effect.sync(() => tasks.clear())
    )
  }
})

export type CallTasks = Effect.Success<ReturnType<typeof makeCallTasks>>
