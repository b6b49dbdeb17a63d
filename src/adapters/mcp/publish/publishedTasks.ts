import { Cause, Clock, Duration, Effect, Exit, Fiber, FiberMap, Queue } from "effect"
import type {
  InputResponder,
  McpProgress,
  McpSessionError,
  McpTask,
  McpTasks
} from "../../../application/ports/McpSession.ts"
import { isJsonObject, type JsonObject } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { type JsonRpcError, jsonRpcError, toJsonRpcError } from "./jsonRpcErrors.ts"
import { makeOpenQuestions, type OpenQuestions } from "./openQuestions.ts"
import type { SendProgress } from "./progressHeartbeat.ts"

/** The extension of MCP 2026-07-28. */
export const tasksExtension = "io.modelcontextprotocol/tasks"

/** How long a task exists at most, in milliseconds: an hour to run, and an hour to fetch its result. */
const taskTtl = 2 * 60 * 60 * 1000

/** How often clients should poll, in milliseconds. */
const pollInterval = 1000

/** A call of a client that supports tasks becomes one after this time. */
const taskAfter = Duration.seconds(10)

/** Tasks of all clients that this process follows; the oldest ended ones are dropped first. */
const maxFollowed = 1024

type Ended = Exit.Exit<JsonObject, McpSessionError>

interface FollowedTask {
  readonly task: McpTask
  readonly questions: OpenQuestions
  /** Signals a new question. */
  readonly asked: Queue.Queue<void>
  fiber: Fiber.Fiber<JsonObject, McpSessionError> | undefined
  updatedAt: number
  message: string | undefined
  /** The request that waits for the task at present. */
  sendProgress: SendProgress | undefined
  isCancelled: boolean
}

const toStatusMessage = ({ message, progress, total }: McpProgress): string =>
  [message, total === undefined ? `${progress}` : `${progress} of ${total}`]
    .filter((part) => part !== undefined)
    .join(": ")

const endOf = ({ fiber }: FollowedTask): Ended | undefined => fiber?.pollUnsafe()

const statusOf = (entry: FollowedTask) => {
  const end = endOf(entry)
  if (end === undefined) return entry.questions.size > 0 ? "input_required" : "working"
  if (Exit.isFailure(end)) return "failed"
  return entry.isCancelled ? "cancelled" : "completed"
}

const describe = (entry: FollowedTask, ttlKey: "ttl" | "ttlMs", pollKey: "pollInterval" | "pollIntervalMs") => ({
  taskId: entry.task.id,
  status: statusOf(entry),
  ...definedOnly({ statusMessage: entry.message }),
  createdAt: new Date(entry.task.createdAt).toISOString(),
  lastUpdatedAt: new Date(entry.updatedAt).toISOString(),
  [ttlKey]: taskTtl,
  [pollKey]: pollInterval
})

const legacyTask = (entry: FollowedTask): JsonObject => describe(entry, "ttl", "pollInterval")

const failureOf = (end: Ended | undefined): JsonRpcError => {
  const error = end !== undefined && Exit.isFailure(end) ? Cause.findErrorOption(end.cause) : undefined
  return error?._tag === "Some" ? toJsonRpcError(error.value) : jsonRpcError("internalError", "The call has failed")
}

const modernTask = (entry: FollowedTask): JsonObject => {
  const task = describe(entry, "ttlMs", "pollIntervalMs")
  const end = endOf(entry)
  switch (task.status) {
    case "completed":
      return { ...task, result: end !== undefined && Exit.isSuccess(end) ? end.value : {} }
    case "failed": {
      const { code, message } = failureOf(end)
      return { ...task, error: { code, message } }
    }
    case "input_required":
      return { ...task, inputRequests: entry.questions.encode() }
    default:
      return task
  }
}

const cancel = Effect.fnUntraced(function* (entry: FollowedTask) {
  if (endOf(entry) !== undefined) return
  entry.isCancelled = true
  yield* Effect.mapError(entry.task.cancel, toJsonRpcError)
  if (entry.fiber !== undefined) yield* Fiber.await(entry.fiber)
})

/** Follows tasks, each from its start or from the first request for it. */
const makeFollowedTasks = Effect.fnUntraced(function* (tasks: McpTasks) {
  const clock = yield* Clock.Clock
  const fibers = yield* FiberMap.make<string, JsonObject, McpSessionError>()
  const followed = new Map<string, FollowedTask>()

  const evict = () => {
    const now = clock.currentTimeMillisUnsafe()
    for (const [id, entry] of followed) {
      const isOld = now - entry.updatedAt >= taskTtl || followed.size >= maxFollowed
      if (isOld && endOf(entry) !== undefined) followed.delete(id)
    }
  }

  /** Follows a task, whose options exist before it does. */
  const follow = Effect.fnUntraced(function* <E>(
    find: (options: {
      readonly onProgress: SendProgress
      readonly responder: InputResponder
    }) => Effect.Effect<McpTask | undefined, E>,
    modes: InputResponder["modes"],
    sendProgress: SendProgress | undefined
  ): Effect.fn.Return<FollowedTask | undefined, E> {
    evict()
    let entry: FollowedTask | undefined
    const touch = (changed: Partial<FollowedTask>) => {
      if (entry !== undefined) Object.assign(entry, changed, { updatedAt: clock.currentTimeMillisUnsafe() })
    }
    const asked = yield* Queue.sliding<void>(1)
    const questions = makeOpenQuestions(
      Effect.suspend(() => {
        touch({})
        return Queue.offer(asked, undefined)
      })
    )
    const answer: InputResponder["answer"] = (request) =>
      Effect.ensuring(
        questions.answer(request),
        Effect.sync(() => touch({}))
      )
    const onProgress: SendProgress = (step) =>
      Effect.suspend(() => {
        touch({ message: toStatusMessage(step) })
        return entry?.sendProgress?.(step) ?? Effect.void
      })
    const task = yield* find({ onProgress, responder: { modes, answer } })
    if (task === undefined) return undefined
    const known = followed.get(task.id)
    if (known !== undefined) return known
    entry = {
      task,
      questions,
      asked,
      fiber: undefined,
      updatedAt: task.createdAt,
      message: undefined,
      sendProgress,
      isCancelled: false
    }
    followed.set(task.id, entry)
    entry.fiber = yield* FiberMap.run(
      fibers,
      task.id,
      Effect.ensuring(
        task.result,
        Effect.sync(() => touch({}))
      )
    )
    return entry
  })

  const findTask = Effect.fnUntraced(function* (
    params: JsonObject,
    modes: InputResponder["modes"]
  ): Effect.fn.Return<FollowedTask, JsonRpcError> {
    const { taskId } = params
    if (typeof taskId !== "string") return yield* jsonRpcError("invalidParams", "'taskId' must be a string")
    const known = followed.get(taskId)
    if (known !== undefined) return known
    const found = yield* Effect.mapError(
      follow((options) => tasks.find(taskId, options), modes, undefined),
      toJsonRpcError
    )
    return found ?? (yield* jsonRpcError("invalidParams", `There is no task '${taskId}'`))
  })

  return {
    start: (
      name: string,
      args: JsonObject,
      modes: InputResponder["modes"],
      sendProgress?: SendProgress
    ): Effect.Effect<FollowedTask | undefined, McpSessionError> =>
      follow((options) => tasks.start(name, args, options), modes, sendProgress),
    find: findTask,
    forget: ({ task }: FollowedTask): void => void followed.delete(task.id)
  }
})

/** What a client may do with the tasks of a session. */
export type PublishedTasks = Effect.Success<ReturnType<typeof makePublishedTasks>>

/**
 * Follows the tasks of a session for its clients, in both eras. A task that another process started is followed once a
 * client asks for it.
 */
export const makePublishedTasks = Effect.fnUntraced(function* (tasks: McpTasks) {
  const { find, forget, start } = yield* makeFollowedTasks(tasks)

  return {
    /** Starts a call as a task (2025-11-25). Fails for a tool that runs at once only. */
    startLegacy: Effect.fnUntraced(function* (name: string, args: JsonObject, modes: InputResponder["modes"]) {
      const entry = yield* Effect.mapError(start(name, args, modes), toJsonRpcError)
      if (entry === undefined) return yield* jsonRpcError("methodNotFound", `The tool '${name}' does not run as a task`)
      return { task: legacyTask(entry) }
    }),
    /**
     * Runs a call of a client that supports tasks (2026-07-28): gives its result, or after a while a task. `undefined` for
     * a tool that runs at once only.
     */
    callModern: Effect.fnUntraced(function* (
      name: string,
      args: JsonObject,
      modes: InputResponder["modes"],
      sendProgress: SendProgress | undefined
    ): Effect.fn.Return<JsonObject | undefined, McpSessionError> {
      const entry = yield* start(name, args, modes, sendProgress)
      if (entry?.fiber === undefined) return undefined
      yield* Effect.raceFirst(Fiber.await(entry.fiber), Queue.take(entry.asked)).pipe(
        Effect.timeoutOption(taskAfter),
        Effect.onInterrupt(() => Effect.ignore(cancel(entry)))
      )
      entry.sendProgress = undefined
      const end = endOf(entry)
      if (end === undefined) return { ...describe(entry, "ttlMs", "pollIntervalMs"), resultType: "task" }
      forget(entry)
      return yield* end
    }),
    get: (params: JsonObject, era: "legacy" | "modern", modes: InputResponder["modes"]) =>
      Effect.map(find(params, modes), era === "legacy" ? legacyTask : modernTask),
    /** Waits for the result of a task (2025-11-25), and asks its questions meanwhile. */
    result: Effect.fnUntraced(function* (params: JsonObject, responder: InputResponder) {
      const entry = yield* find(params, responder.modes)
      const answerNext = Effect.gen(function* () {
        if (entry.questions.size === 0) yield* Queue.take(entry.asked)
        yield* entry.questions.askAll(responder)
      })
      const { fiber, task } = entry
      const end = yield* Effect.raceFirst(
        fiber === undefined ? Effect.never : Fiber.await(fiber),
        Effect.forever(answerNext)
      )
      if (Exit.isFailure(end)) return yield* failureOf(end)
      const _meta = { ...(isJsonObject(end.value["_meta"]) && end.value["_meta"]), ...relatedTask(task.id) }
      return { ...end.value, _meta }
    }),
    /** Answers the questions of a task (2026-07-28). */
    update: Effect.fnUntraced(function* (params: JsonObject, responses: JsonObject, modes: InputResponder["modes"]) {
      const entry = yield* find(params, modes)
      entry.questions.accept(responses)
      yield* Effect.yieldNow
      return {}
    }),
    cancel: Effect.fnUntraced(function* (params: JsonObject, era: "legacy" | "modern") {
      const entry = yield* find(params, [])
      if (era === "legacy" && endOf(entry) !== undefined) {
        return yield* jsonRpcError("invalidParams", "The task has ended")
      }
      yield* cancel(entry)
      return era === "legacy" ? legacyTask(entry) : {}
    })
  }
})

const relatedTask = (taskId: string): JsonObject => ({ "io.modelcontextprotocol/related-task": { taskId } })
