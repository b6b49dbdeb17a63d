import { Effect } from "effect"
import type { JsonObject } from "../../domain/json.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"
import { maxTimeoutSeconds } from "../../domain/model/fields.ts"
import { formatTaskId, parseTaskId } from "../../domain/office/taskIds.ts"
import type { Agent } from "../agent/Agent.ts"
import type { ToolTask } from "../agent/tasks/toolTasks.ts"
import { McpSessionError, type McpTask, type McpTasks } from "../ports/McpSession.ts"
import type { OfficeTool, OfficeTools } from "./exposeTools.ts"
import { toCallHooks } from "./callHooks.ts"
import { toOfficeResult } from "./officeTools.ts"
import type { LargeResults } from "./results/largeResults.ts"

const unknownTask = (id: string) =>
  new McpSessionError({ reason: "protocol", code: jsonRpcCodes.invalidParams, message: `There is no task '${id}'` })

/** Makes the tasks of a published office: calls of tools of Computers, which run there. */
export const makeOfficeTasks = (
  agent: Agent["Service"],
  current: Effect.Effect<OfficeTools>,
  largeResults: LargeResults | undefined
): McpTasks => {
  const toFailure = (error: { readonly _tag: string; readonly message: string }) =>
    new McpSessionError({
      reason: "protocol",
      code: error._tag === "TaskLost" ? jsonRpcCodes.invalidParams : jsonRpcCodes.internalError,
      message: error.message
    })
  const toMcpTask = (task: ToolTask, createdAt: number, target: OfficeTool | undefined): McpTask => ({
    id: formatTaskId(task),
    createdAt,
    result: Effect.flatMap(Effect.mapError(task.result, toFailure), (result): Effect.Effect<JsonObject> => {
      const published = toOfficeResult(result, target)
      return largeResults?.limit(published) ?? Effect.succeed(published)
    }),
    cancel: Effect.mapError(task.cancel, toFailure)
  })

  return {
    start: Effect.fnUntraced(function* (name, params, options = {}) {
      const { byName: known, departed } = yield* current
      const target = known.get(name) ?? departed.get(name)
      if (target === undefined) return undefined
      const { computer, tool } = target
      const call = { computer, tool: tool.name, params, timeout: maxTimeoutSeconds, ...toCallHooks(options) }
      const task = yield* Effect.mapError(agent.startTool(call), toFailure)
      const { createdAt } = yield* Effect.mapError(task.status, toFailure)
      return toMcpTask(task, createdAt, target)
    }),
    find: Effect.fnUntraced(function* (id, options = {}) {
      const place = parseTaskId(id)
      if (place === undefined) return yield* unknownTask(id)
      const task = agent.task(place.computer, place.id, toCallHooks(options))
      const { createdAt, tool: name } = yield* Effect.mapError(task.status, toFailure)
      const { byName } = yield* current
      const started = [...byName.values()].find(
        ({ computer, tool }) => computer === place.computer && tool.name === name
      )
      return toMcpTask(task, createdAt, started)
    })
  }
}
