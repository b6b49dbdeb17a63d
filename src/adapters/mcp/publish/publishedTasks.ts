import { Cause, Clock, Duration, Effect, Exit, Fiber, FiberMap, Option } from "effect"
import type {
  InputResponder,
  McpCallOptions,
  McpProgress,
  McpSessionError,
  McpTask,
  McpTasks
} from "../../../application/ports/McpSession.ts"
import { asObject, type JsonObject } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { type JsonRpcError, jsonRpcError, toJsonRpcError } from "./jsonRpcErrors.ts"
import { makeOpenQuestions, type OpenQuestions } from "./inputRounds.ts"
import type { SendProgress } from "./progressHeartbeat.ts"

/** The extension of MCP 2026-07-28. */
export const tasksExtension = "io.modelcontextprotocol/tasks"

/** How long a task exists at most, in milliseconds: an hour to run, and an hour to fetch its result. */
const taskTtl = 2 * 60 * 60 * 1000

/** How often clients should poll, in milliseconds. */
const pollInterval = 1000

/** A call of a client that supports tasks becomes one after this time: some clients wait ten seconds for a response. */
const taskAfter = Duration.seconds(5)

/** Tasks of all clients that this process follows; the oldest ended ones are dropped first. */
const maxFollowed = 1024

export type Era = "legacy" | "modern"

interface FollowedTask {
  readonly task: McpTask
  readonly questions: OpenQuestions
  readonly fiber: Fiber.Fiber<JsonObject, McpSessionError>
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

const statusOf = ({ fiber, isCancelled, questions }: FollowedTask) => {
  const end = fiber.pollUnsafe()
  if (end === undefined) return questions.size > 0 ? "input_required" : "working"
  if (Exit.isFailure(end)) return "failed"
  return isCancelled ? "cancelled" : "completed"
}

const describe = (entry: FollowedTask, era: Era): JsonObject => ({
  taskId: entry.task.id,
  status: statusOf(entry),
  ...definedOnly({ statusMessage: entry.message }),
  createdAt: new Date(entry.task.createdAt).toISOString(),
  lastUpdatedAt: new Date(entry.updatedAt).toISOString(),
  ...(era === "legacy" ? { ttl: taskTtl, pollInterval } : { ttlMs: taskTtl, pollIntervalMs: pollInterval })
})

const failureOf = (cause: Cause.Cause<McpSessionError>): JsonRpcError =>
  Option.match(Cause.findErrorOption(cause), {
    onNone: () => jsonRpcError("internalError", "The call has failed"),
    onSome: toJsonRpcError
  })

/** A task with its result, its error or its questions (2026-07-28). */
const describeOutcome = (entry: FollowedTask): JsonObject => {
  const task = describe(entry, "modern")
  const end = entry.fiber.pollUnsafe()
  if (end === undefined)
    return { ...task, ...(entry.questions.size > 0 && { inputRequests: entry.questions.encode() }) }
  if (Exit.isSuccess(end)) return { ...task, ...(!entry.isCancelled && { result: end.value }) }
  const { code, message } = failureOf(end.cause)
  return { ...task, error: { code, message } }
}

const cancel = Effect.fnUntraced(function* (entry: FollowedTask) {
  if (entry.fiber.pollUnsafe() !== undefined) return
  entry.isCancelled = true
  yield* Effect.mapError(entry.task.cancel, toJsonRpcError)
  yield* Fiber.await(entry.fiber)
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
      if (isOld && entry.fiber.pollUnsafe() !== undefined) followed.delete(id)
    }
  }

  /** Follows a task, whose options exist before it does. */
  const follow = Effect.fnUntraced(function* <E>(
    find: (options: McpCallOptions) => Effect.Effect<McpTask | undefined, E>,
    modes: InputResponder["modes"],
    sendProgress?: SendProgress
  ): Effect.fn.Return<FollowedTask | undefined, E> {
    evict()
    let entry: FollowedTask | undefined
    const touch = (changed: Partial<FollowedTask> = {}) =>
      Effect.sync(() => void (entry && Object.assign(entry, changed, { updatedAt: clock.currentTimeMillisUnsafe() })))
    const questions = makeOpenQuestions()
    const task = yield* find({
      onProgress: (step) =>
        Effect.andThen(
          touch({ message: toStatusMessage(step) }),
          Effect.suspend(() => entry?.sendProgress?.(step) ?? Effect.void)
        ),
      responder: {
        modes,
        answer: (request) => touch().pipe(Effect.andThen(questions.answer(request)), Effect.ensuring(touch()))
      }
    })
    if (task === undefined) return undefined
    const known = followed.get(task.id)
    if (known !== undefined) return known
    // Its first steps may ask.
    const running = Effect.ensuring(task.result, touch())
    const fiber = yield* FiberMap.run(fibers, task.id, running, { startImmediately: false })
    entry = { task, questions, fiber, updatedAt: task.createdAt, message: undefined, sendProgress, isCancelled: false }
    followed.set(task.id, entry)
    return entry
  })

  return {
    start: (name: string, args: JsonObject, modes: InputResponder["modes"], sendProgress?: SendProgress) =>
      follow((options) => tasks.start(name, args, options), modes, sendProgress),
    find: Effect.fnUntraced(function* ({ taskId }: JsonObject, modes: InputResponder["modes"]) {
      if (typeof taskId !== "string") return yield* jsonRpcError("invalidParams", "'taskId' must be a string")
      const found =
        followed.get(taskId) ??
        (yield* Effect.mapError(
          Effect.tap(
            follow((options) => tasks.find(taskId, options), modes),
            Effect.yieldNow
          ),
          toJsonRpcError
        ))
      return found ?? (yield* jsonRpcError("invalidParams", `There is no task '${taskId}'`))
    }),
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
      yield* Effect.yieldNow
      return { task: describe(entry, "legacy") }
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
      if (entry === undefined) return undefined
      yield* Effect.raceFirst(Fiber.await(entry.fiber), entry.questions.asked).pipe(
        Effect.timeoutOption(taskAfter),
        Effect.onInterrupt(() => Effect.ignore(cancel(entry)))
      )
      entry.sendProgress = undefined
      const end = entry.fiber.pollUnsafe()
      if (end === undefined) return { ...describe(entry, "modern"), resultType: "task" }
      forget(entry)
      return yield* end
    }),
    get: (params: JsonObject, era: Era, modes: InputResponder["modes"]) =>
      Effect.map(find(params, modes), (entry) => (era === "legacy" ? describe(entry, era) : describeOutcome(entry))),
    /** Waits for the result of a task (2025-11-25), and asks its questions meanwhile. */
    result: Effect.fnUntraced(function* (params: JsonObject, responder: InputResponder) {
      const entry = yield* find(params, responder.modes)
      const answerNext = Effect.andThen(entry.questions.asked, entry.questions.askAll(responder))
      const end = yield* Effect.raceFirst(Fiber.await(entry.fiber), Effect.forever(answerNext))
      if (Exit.isFailure(end)) return yield* failureOf(end.cause)
      const relatedTask: JsonObject = { "io.modelcontextprotocol/related-task": { taskId: entry.task.id } }
      return { ...end.value, _meta: { ...asObject(end.value["_meta"]), ...relatedTask } }
    }),
    /** Answers the questions of a task (2026-07-28). */
    update: Effect.fnUntraced(function* (params: JsonObject, responses: JsonObject, modes: InputResponder["modes"]) {
      const entry = yield* find(params, modes)
      entry.questions.accept(responses)
      yield* Effect.yieldNow
      return {}
    }),
    cancel: Effect.fnUntraced(function* (params: JsonObject, era: Era) {
      const entry = yield* find(params, [])
      const hasEnded = entry.fiber.pollUnsafe() !== undefined
      if (era === "legacy" && hasEnded) return yield* jsonRpcError("invalidParams", "The task has ended")
      yield* cancel(entry)
      return era === "legacy" ? describe(entry, era) : {}
    })
  }
})
