import { Clock, Duration, Effect, Exit, FiberMap, Option, Stream, SubscriptionRef } from "effect"
import type { Caller, OfficeCaller } from "../../../domain/approvals/Caller.ts"
import {
  isHeldBy,
  taskKey,
  type TasksCommand,
  type TasksEvent,
  type TasksState,
  type TaskState,
  transitionTasks
} from "../../../domain/calls/tasksState.ts"
import { canonicalJson } from "../../../domain/json.ts"
import type { TaskQuery, TaskStart } from "../../../domain/model/messages/tasks.ts"
import type { ProtocolError } from "../../../domain/model/ProtocolError.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import type { CallReporter } from "./Call.ts"
import type { RequestId } from "../../../domain/model/ids.ts"

const stateOf = (command: TasksCommand): Effect.Effect<TaskState, ProtocolError> =>
  command._tag === "Reject" ? Effect.fail(command.error) : Effect.succeed(command.state)

type Timeless<E> = E extends unknown ? Omit<E, "at"> : never

type TaskCall = TaskStart & { readonly caller: OfficeCaller }

/**
 * Runs calls that outlive the request, the connection and the membership of their Agent, which fetches the result by the id
 * that it chose. A repeated start joins the same call: nothing runs twice. Tasks end with the scope. `execute` runs the
 * call of a task, and reports its statuses.
 */
export const makeCallTasks = Effect.fnUntraced(function* (
  execute: (task: TaskCall, reporter: CallReporter) => Effect.Effect<ToolResult>
) {
  const clock = yield* Clock.Clock
  const running = yield* FiberMap.make<string, ToolResult>()
  const tasks = yield* SubscriptionRef.make<TasksState>(new Map())

  const dispatch = (event: Timeless<TasksEvent>): Effect.Effect<TasksCommand> =>
    SubscriptionRef.modify(tasks, (current) => {
      const [next, command] = transitionTasks(current, { ...event, at: clock.currentTimeMillisUnsafe() })
      return [command, next]
    })

  const run = (key: string, task: TaskCall) => {
    const report: CallReporter["report"] = ({ status }) => Effect.asVoid(dispatch({ _tag: "Reported", key, status }))
    // Nothing bounds how long the Agent waits for a task.
    const reporter: CallReporter = { report, announceWait: (reported) => Effect.as(report(reported), true) }
    const execution = Effect.onExit(execute(task, reporter), (exit) =>
      dispatch(Exit.isSuccess(exit) ? { _tag: "Completed", key, result: exit.value } : { _tag: "Cancelled", key })
    )
    return FiberMap.run(running, key, execution, { startImmediately: false })
  }

  /** The state of a task for a caller that shows its id. */
  const find = (caller: OfficeCaller, id: string): Effect.Effect<TaskState, ProtocolError> =>
    Effect.flatMap(dispatch({ _tag: "Requested", key: taskKey(caller, id), caller }), stateOf)

  return {
    start: Effect.fnUntraced(function* (task: TaskCall) {
      const { caller, id, params, tool } = task
      const key = taskKey(caller, id)
      const fingerprint = canonicalJson({ tool, params })
      const command = yield* dispatch({ _tag: "Started", key, caller, tool, fingerprint })
      if (command._tag === "Run") yield* run(key, task)
      return yield* stateOf(command)
    }, Effect.uninterruptible),
    /** The state of a task: at once, or after the version that the Agent has seen, for the time that it waits. */
    get: Effect.fnUntraced(function* (caller: OfficeCaller, { id, seen = 0, wait = 0 }: TaskQuery) {
      const state = yield* find(caller, id)
      if (wait === 0) return state
      const key = taskKey(caller, id)
      const change = SubscriptionRef.changes(tasks).pipe(
        Stream.map((current) => current.get(key)?.state),
        Stream.filter((next) => next === undefined || next.version > seen),
        Stream.runHead
      )
      const changed = Option.flatten(yield* Effect.timeoutOption(change, Duration.seconds(wait)))
      return SubscriptionRef.getUnsafe(tasks).get(key)?.state ?? Option.getOrUndefined(changed) ?? state
    }),
    cancel: Effect.fnUntraced(function* (caller: OfficeCaller, id: string) {
      yield* find(caller, id)
      const key = taskKey(caller, id)
      yield* FiberMap.remove(running, key)
      // A call that has not begun ends without an exit.
      return yield* Effect.flatMap(dispatch({ _tag: "Cancelled", key }), stateOf)
    }),
    isHeldBy: (holder: OfficeCaller, call: { readonly caller: Caller; readonly reqId: RequestId }): boolean =>
      isHeldBy(SubscriptionRef.getUnsafe(tasks), holder, call),
    reset: Effect.andThen(FiberMap.clear(running), SubscriptionRef.set(tasks, new Map()))
  }
})

export type CallTasks = Effect.Success<ReturnType<typeof makeCallTasks>>
