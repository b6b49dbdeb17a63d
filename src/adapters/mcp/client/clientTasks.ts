import { Duration, Effect } from "effect"
import { type McpSessionError, protocolFailure, sessionError } from "../../../application/ports/McpSession.ts"
import { asObject, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { answerInputs } from "./inputHandler.ts"
import { attemptBriefly, type RequestHandlers, type SendRequest } from "./mcpMessages.ts"

/** Milliseconds between two polls of a task: as the server wants within these bounds, else the default. */
const pollInterval = { min: 100, max: 30_000, default: 1000 }

/** How long a server is asked to keep the result of a task, in milliseconds. */
const taskTtl = 60 * 60 * 1000

const pollDelay = (wanted: unknown): Duration.Duration =>
  Duration.millis(
    typeof wanted === "number" ? Math.min(Math.max(wanted, pollInterval.min), pollInterval.max) : pollInterval.default
  )

/** Statuses of an unfinished task whose message is not reported. */
const quietStatuses: ReadonlyArray<unknown> = ["completed", "input_required"]

/**
 * Polls a task until `resultOf` its state gives a result, and reports its message as progress of its call when it changes.
 * Cancels it at the server when the call is interrupted: up to a second, best effort.
 */
const pollTask = (
  request: SendRequest,
  created: JsonObject,
  onProgress: RequestHandlers["onProgress"],
  resultOf: (state: JsonObject) => Effect.Effect<JsonObject | undefined, McpSessionError>
) => {
  const { pollInterval: wanted, taskId } = created
  let reported: unknown
  let progress = 0
  return Effect.gen(function* () {
    let state = created
    while (true) {
      if (state["status"] === "cancelled") return yield* sessionError("protocol", "MCP server cancelled the task")
      const result = yield* resultOf(state)
      if (result !== undefined) return result
      const { pollInterval: interval = wanted, pollIntervalMs = interval, status, statusMessage: message } = state
      if (typeof message === "string" && message !== reported && !quietStatuses.includes(status)) {
        reported = message
        onProgress?.({ progress: ++progress, message })
      }
      yield* Effect.sleep(pollDelay(pollIntervalMs))
      state = yield* request("tasks/get", { taskId })
    }
  }).pipe(Effect.onInterrupt(() => attemptBriefly(request("tasks/cancel", { taskId }))))
}

/** Calls a tool as a task (2025-11-25): for tools that require one. Gives the result of the tool. */
export const callAsTask = Effect.fnUntraced(function* (
  request: SendRequest,
  params: JsonObject,
  handlers: RequestHandlers
): Effect.fn.Return<JsonObject, McpSessionError> {
  const task = asObject((yield* request("tools/call", { ...params, task: { ttl: taskTtl } }, handlers))["task"])
  const { taskId } = task
  if (typeof taskId !== "string") return yield* sessionError("protocol", "MCP server did not make a task of the call")
  // The result of a task that needs input blocks, and the server asks meanwhile.
  return yield* pollTask(request, task, handlers.onProgress, ({ status }) =>
    status === "working" ? Effect.undefined : request("tasks/result", { taskId }, handlers)
  )
})

/** Waits for the task that a server (2026-07-28) made of a call, and answers its questions. */
export const awaitTask = Effect.fnUntraced(function* (
  request: SendRequest,
  created: JsonObject,
  { onProgress, responder }: RequestHandlers
): Effect.fn.Return<JsonObject, McpSessionError> {
  const { taskId } = created
  if (typeof taskId !== "string") return yield* sessionError("protocol", "MCP server made a task without an id")
  const answered = new Set<string>()
  const resultOf = Effect.fnUntraced(function* ({ error, inputRequests, result, status }: JsonObject) {
    if (status === "completed" && result !== undefined) return asObject(result)
    if (status === "failed") {
      const { code, message } = asObject(error)
      return yield* protocolFailure(
        typeof code === "number" ? code : jsonRpcCodes.internalError,
        stringOrEmpty(message)
      )
    }
    const open = Object.entries(asObject(inputRequests)).filter(([id]) => !answered.has(id))
    if (status === "input_required" && open.length > 0) {
      const inputResponses = yield* answerInputs(Object.fromEntries(open), responder)
      yield* request("tasks/update", { taskId, inputResponses })
      for (const id of Object.keys(inputResponses)) answered.add(id)
    }
    return undefined
  })
  return yield* pollTask(request, created, onProgress, resultOf)
})
