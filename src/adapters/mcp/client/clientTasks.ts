import { Duration, Effect } from "effect"
import { McpSessionError, sessionError } from "../../../application/ports/McpSession.ts"
import { asObject, asString, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import { jsonRpcCodes } from "../../../domain/jsonRpcCodes.ts"
import { answerInputs } from "./inputHandler.ts"
import { attemptBriefly, type RequestHandlers, type SendRequest } from "./SendRequest.ts"

/** Milliseconds between two polls of a task: as the server wants within these bounds, else the default. */
const pollInterval = { min: 100, max: 30_000, default: 1000 }

/** How long a server is asked to keep the result of a task, in milliseconds. */
const taskTtl = 60 * 60 * 1000

const pollDelay = (wanted: unknown): Duration.Duration =>
  Duration.millis(
    typeof wanted === "number" ? Math.min(Math.max(wanted, pollInterval.min), pollInterval.max) : pollInterval.default
  )

const cancelledByServer = sessionError("protocol", "MCP server cancelled the task")

/** Cancels a task at the server when its call is interrupted: up to a second, best effort. */
const cancelOnInterrupt = <A, E>(request: SendRequest, taskId: string, running: Effect.Effect<A, E>) =>
  Effect.onInterrupt(running, () => attemptBriefly(request("tasks/cancel", { taskId })))

/** Reports the message of a task as progress of its call, when it changes. */
const makeMessageReport = (onProgress: RequestHandlers["onProgress"]) => {
  let reported: string | undefined
  let count = 0
  return (message: unknown) => {
    if (typeof message !== "string" || message === reported) return
    reported = message
    count += 1
    onProgress?.({ progress: count, message })
  }
}

/** Calls a tool as a task (2025-11-25): for tools that require one. Gives the result of the tool. */
export const callAsTask = Effect.fnUntraced(function* (
  request: SendRequest,
  params: JsonObject,
  handlers: RequestHandlers
): Effect.fn.Return<JsonObject, McpSessionError> {
  const { task } = yield* request("tools/call", { ...params, task: { ttl: taskTtl } }, handlers)
  const { pollInterval: wanted, taskId } = asObject(task)
  if (typeof taskId !== "string") return yield* sessionError("protocol", "MCP server did not make a task of the call")
  const report = makeMessageReport(handlers.onProgress)
  const awaitResult = Effect.gen(function* () {
    let state = asObject(task)
    // The result of a task that needs input blocks, and the server asks meanwhile.
    while (state["status"] === "working") {
      report(state["statusMessage"])
      yield* Effect.sleep(pollDelay(state["pollInterval"] ?? wanted))
      state = yield* request("tasks/get", { taskId })
    }
    if (state["status"] === "cancelled") return yield* cancelledByServer
    return yield* request("tasks/result", { taskId }, handlers)
  })
  return yield* cancelOnInterrupt(request, taskId, awaitResult)
})

/** Waits for the task that a server (2026-07-28) made of a call, and answers its questions. */
export const awaitTask = Effect.fnUntraced(function* (
  request: SendRequest,
  created: JsonObject,
  { onProgress, responder }: RequestHandlers
): Effect.fn.Return<JsonObject, McpSessionError> {
  const taskId = asString(created["taskId"])
  if (taskId === undefined) return yield* sessionError("protocol", "MCP server made a task without an id")
  const report = makeMessageReport(onProgress)
  const answered = new Set<string>()
  const awaitResult = Effect.gen(function* () {
    let state = created
    while (true) {
      switch (state["status"]) {
        case "completed":
          if (state["result"] !== undefined) return asObject(state["result"])
          break
        case "failed": {
          const { code, message } = asObject(state["error"])
          return yield* new McpSessionError({
            reason: "protocol",
            code: typeof code === "number" ? code : jsonRpcCodes.internalError,
            message: stringOrEmpty(message)
          })
        }
        case "cancelled":
          return yield* cancelledByServer
        case "input_required": {
          const open = Object.entries(asObject(state["inputRequests"])).filter(([id]) => !answered.has(id))
          if (open.length > 0) {
            const inputResponses = yield* answerInputs(Object.fromEntries(open), responder)
            yield* request("tasks/update", { taskId, inputResponses })
            for (const id of Object.keys(inputResponses)) answered.add(id)
          }
          break
        }
        default:
          report(state["statusMessage"])
      }
      yield* Effect.sleep(pollDelay(state["pollIntervalMs"]))
      state = yield* request("tasks/get", { taskId })
    }
  })
  return yield* cancelOnInterrupt(request, taskId, awaitResult)
})
