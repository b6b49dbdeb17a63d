import { type Caller, callerKey, isSameCaller, type OfficeCaller } from "../approvals/Caller.ts"
import type { CallStatus } from "../model/CallStatus.ts"
import { taskRetention, type TaskView } from "../model/messages/tasks.ts"
import { badRequest, notFound, ProtocolError } from "../model/ProtocolError.ts"
import type { ToolResult } from "../model/ToolResult.ts"
import type { RequestId } from "../model/ids.ts"
import { maxJsonDepth } from "../json.ts"

/** A call whose result a Computer keeps for a while after its end. */
export interface KeptResult {
  /** `updatedAt` is the end of a call that does not run, in milliseconds of the epoch. */
  readonly state: Pick<TaskState, "state" | "updatedAt">
  /** Approximate size of the result in characters; 0 while the call runs. */
  readonly size: number
}

/** Counts the characters of all strings in a result: they make up nearly all of its size. */
export const estimateSize = (value: unknown, depth = maxJsonDepth): number => {
  if (typeof value === "string") return value.length
  if (typeof value !== "object" || value === null || depth === 0) return 8
  return Object.values(value).reduce<number>((sum, member) => sum + estimateSize(member, depth - 1), 0)
}

/** Keys of results that were kept long enough, and of surplus ones, the first ones first, but of no running call. */
export const findSurplus = (
  results: ReadonlyMap<string, KeptResult>,
  limits: { readonly count: number; readonly characters: number; readonly millis: number },
  now: number
): ReadonlyArray<string> => {
  let count = results.size
  let characters = [...results.values()].reduce((sum, { size }) => sum + size, 0)
  return [...results].flatMap(([key, { size, state }]) => {
    const isOver = count > limits.count || characters > limits.characters || now - state.updatedAt >= limits.millis
    if (state.state === "working" || !isOver) return []
    count--
    characters -= size
    return [key]
  })
}

const maxRunning = 64

const limits = { count: 256, characters: 32 * 1024 * 1024, millis: taskRetention }

const unknownTask = () =>
  notFound(
    "The Computer does not know this task: it left the office or restarted, or has dropped the result after an hour"
  )

/** The state of a task, before it is encoded. */
export interface TaskState extends Omit<TaskView, "report" | "result"> {
  /** The latest status of its call, such as a wait for consent or for the answer to an elicitation. */
  readonly status?: CallStatus
  readonly result?: ToolResult
}

interface Task extends KeptResult {
  readonly fingerprint: string
  readonly caller: OfficeCaller
  /** The latest caller that has shown the id of the task. */
  readonly holder: OfficeCaller
  readonly state: TaskState
}

/** The tasks of a Computer by {@link taskKey}, in the order of their start. */
export type TasksState = ReadonlyMap<string, Task>

/** What happens to the task of a key. */
export type TasksEvent = { readonly key: string; readonly at: number } & (
  | { readonly _tag: "Started"; readonly caller: OfficeCaller; readonly tool: string; readonly fingerprint: string }
  /** A caller of the name asks for the task by its id. */
  | { readonly _tag: "Requested"; readonly caller: OfficeCaller }
  | { readonly _tag: "Reported"; readonly status: CallStatus }
  | { readonly _tag: "Completed"; readonly result: ToolResult }
  | { readonly _tag: "Cancelled" }
)

export type TasksCommand =
  | { readonly _tag: "Run"; readonly state: TaskState }
  | { readonly _tag: "Show"; readonly state: TaskState }
  | { readonly _tag: "Reject"; readonly error: ProtocolError }

type Transition = readonly [TasksState, TasksCommand]

/** The key of a task of callers of one name: its id, which its Agent chose, proves that it is theirs. */
export const taskKey = (caller: OfficeCaller, id: string): string => JSON.stringify([callerKey(caller), id])

/**
 * True when a call is that of a task, by its caller and id, and this caller has started the task, or shown its id since.
 * Other callers may choose the same id.
 */
export const isHeldBy = (
  tasks: TasksState,
  holder: OfficeCaller,
  call: { readonly caller: Caller; readonly reqId: RequestId }
): boolean => {
  const task = tasks.get(taskKey(holder, call.reqId))
  return task !== undefined && isSameCaller(task.holder, holder) && isSameCaller(task.caller, call.caller)
}

const evict = (tasks: TasksState, now: number): TasksState => {
  const surplus = new Set(findSurplus(tasks, limits, now))
  return surplus.size === 0 ? tasks : new Map([...tasks].filter(([key]) => !surplus.has(key)))
}

const show = (tasks: TasksState, key: string, task: Task): Transition => [
  new Map([...tasks, [key, task]]),
  { _tag: "Show", state: task.state }
]

const reject = (tasks: TasksState, error: ProtocolError): Transition => [tasks, { _tag: "Reject", error }]

const start = (tasks: TasksState, event: Extract<TasksEvent, { readonly _tag: "Started" }>): Transition => {
  const { at, caller, fingerprint, key, tool } = event
  const task = tasks.get(key)
  if (task?.fingerprint === fingerprint) return show(tasks, key, { ...task, holder: caller })
  if (task !== undefined) return reject(tasks, badRequest("This id was used for another call"))
  const running = [...tasks.values()].filter(({ state }) => state.state === "working")
  if (running.length >= maxRunning) {
    return reject(
      tasks,
      new ProtocolError({ code: 429, message: `The Computer runs ${maxRunning} tasks, as many as it may` })
    )
  }
  const state: TaskState = { tool, state: "working", version: 1, createdAt: at, updatedAt: at }
  const added: Task = { fingerprint, caller, holder: caller, state, size: 0 }
  return [new Map([...tasks, [key, added]]), { _tag: "Run", state }]
}

const states = { Reported: "working", Completed: "completed", Cancelled: "cancelled" } as const

/**
 * Changes the task of an event. One is started once: a repeated start joins it. It works, and its status changes, until it
 * completes or is cancelled. Then it is kept for an hour, unless it is one of the oldest surplus ones.
 */
export const transitionTasks = (tasks: TasksState, event: TasksEvent): Transition => {
  const { at, key } = event
  switch (event._tag) {
    case "Started":
      return start(evict(tasks, at), event)
    case "Requested": {
      const kept = evict(tasks, at)
      const task = kept.get(key)
      return task === undefined ? reject(kept, unknownTask()) : show(kept, key, { ...task, holder: event.caller })
    }
    case "Reported":
    case "Completed":
    case "Cancelled": {
      const task = tasks.get(key)
      if (task === undefined) return reject(tasks, unknownTask())
      const { state } = task
      if (state.state !== "working") return [tasks, { _tag: "Show", state }]
      const { _tag, at: updatedAt, key: _key, ...changes } = event
      const size = event._tag === "Completed" ? estimateSize(event.result) : 0
      const next: TaskState = { ...state, ...changes, state: states[_tag], version: state.version + 1, updatedAt }
      return show(tasks, key, { ...task, size, state: next })
    }
  }
}
