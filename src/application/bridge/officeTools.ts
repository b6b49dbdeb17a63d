import { Clock, Effect, Result } from "effect"
import { definedOnly } from "../../domain/objects.ts"
import { withOfficeUris } from "../../domain/office/rewriteUris.ts"
import { isAppOnly, isCallableByApps } from "../../domain/tools/appTools.ts"
import { defaultOfficeCallSeconds, maxTimeoutSeconds } from "../../domain/model/fields.ts"
import { asString, isJsonObject, type JsonObject, stringOrEmpty } from "../../domain/json.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { publishResult } from "../../domain/tools/mcpConversion.ts"
import { errorCodeOf } from "../../domain/tools/errorResults.ts"
import { noUsage, recordUse, usageBoost } from "../../domain/tools/search/ToolUsage.ts"
import type { Agent } from "../agent/Agent.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import { formatQuantity } from "../../domain/text/format.ts"
import { type CallHooks, toCallHooks } from "./callHooks.ts"
import { type OfficeTool, type OfficeTools, type OfficeToolsOptions, toListing } from "./exposeTools.ts"
import { errorResult, type LargeResults, textResult } from "./results/largeResults.ts"
import { formatSome } from "../../domain/errorMessage.ts"
import { callingTool } from "../../domain/tools/naming.ts"
import { singleLine } from "../../domain/tools/singleLine.ts"
import { searchResults } from "./officeToolListings.ts"
import { jsonRpcCodes } from "../../domain/jsonRpcCodes.ts"
import { formatTaskId, parseTaskId } from "../../domain/office/taskIds.ts"
import type { ToolTask } from "../agent/tasks/toolTasks.ts"
import { type McpTask, type McpTasks, protocolFailure } from "../ports/McpSession.ts"

/** Characters of a description in the results of a search; `tools_describe` gives the whole. */
const maxDescriptionLength = 240

const unknownTool = (name: string, { index }: OfficeTools): JsonObject => {
  const similar = index().search(name, 3)
  const hint = similar.length === 0 ? "" : ` Similar: ${similar.join(", ")}.`
  return errorResult(`There is no tool '${name}' in this office (any more).${hint}`)
}

/** Tools that apps call by this name. Hosts pass such calls on unchanged, without the app. */
const toolsOfApps = (name: string, { byName }: OfficeTools): ReadonlyArray<readonly [string, OfficeTool]> =>
  [...byName].filter(([, { origin, tool }]) => origin?.appCall?.tool === name && isCallableByApps(tool.meta))

/** Searches by a query: one line per tool, the best first. `boost` is the factor of a tool for its recent use. */
export const searchTools = (
  { byName, index }: OfficeTools,
  { limit, query }: JsonObject,
  boost: (name: string) => number
): JsonObject => {
  const count =
    typeof limit === "number" ? Math.max(1, Math.min(limit, searchResults.maxCount)) : searchResults.defaultCount
  const names = index().search(stringOrEmpty(query), count, boost)
  const lines = names.map(
    (name) => `${name}: ${singleLine(byName.get(name)?.tool.description ?? "", maxDescriptionLength)}`
  )
  const none = `No tool matches; the office has ${formatQuantity(byName.size, "tool")}. Try other keywords.`
  return textResult(lines.length === 0 ? none : lines.join("\n"))
}

/** Gives the definitions of tools by their names. */
export const describeTools = (tools: OfficeTools, { names }: JsonObject): JsonObject => {
  const listings: Array<JsonObject> = []
  for (const name of Array.isArray(names) ? names : []) {
    if (typeof name !== "string") continue
    const tool = tools.byName.get(name)
    const listing = tool === undefined || isAppOnly(tool.tool.meta) ? undefined : toListing(name, tool)
    if (listing === undefined || Result.isFailure(listing)) return unknownTool(name, tools)
    listings.push(listing.success)
  }
  return textResult(JSON.stringify(listings, null, 2))
}

/** Advice to the model for failures that only the owner of a Computer can fix. */
const hints: { readonly [code: number]: string } = {
  [errorCodes.confirmationRequired]:
    "The owner of the Computer must confirm this call. Tell the user, or continue without this tool.",
  [errorCodes.authorizationRequired]:
    "The owner of the Computer must authorize its MCP server first. Tell the user; a retry does not help.",
  [errorCodes.authorizationFailed]: "The Computer lacks rights at this service. Tell the user; a retry does not help."
}

/** The result of a tool in MCP's form, with the URIs of the office. */
const toOfficeResult = (result: ToolResult, target: OfficeTool | undefined): JsonObject => {
  const text = hints[errorCodeOf(result) ?? 0]
  const hinted =
    text === undefined ? result : { ...result, content: [...result.content, { type: "text" as const, text }] }
  const published = publishResult(hinted, target?.tool)
  return target?.origin === undefined
    ? published
    : withOfficeUris(published, { computer: target.computer, server: target.origin.server })
}

const noComputers = "No Computer is in this office."

const listComputers = ({ computers }: OfficeView): JsonObject => {
  const lines = [...computers].map(([name, { tools }]) =>
    tools === undefined ? `${name}: tools not loaded yet` : `${name}: ${formatQuantity(tools.length, "tool")}`
  )
  return textResult(lines.length === 0 ? noComputers : lines.join("\n"))
}

const showDesktop = Effect.fnUntraced(function* (agent: Agent["Service"], { computer, size, window }: JsonObject) {
  const { computers } = yield* agent.view
  if (computers.size === 0) return textResult(noComputers)
  if (typeof computer === "string" && !computers.has(computer)) {
    return errorResult(`There is no Computer '${computer}' here, only ${formatSome([...computers.keys()])}`)
  }
  const options = definedOnly({ size: typeof size === "number" ? size : undefined, window: asString(window) })
  const desktops = yield* Effect.forEach(
    typeof computer === "string" ? [computer] : [...computers.keys()],
    (name) =>
      Effect.match(agent.getDesktop(name, options), {
        onSuccess: (windows) => [`Computer ${name}: ${formatQuantity(windows.length, "window")}`, ...windows],
        onFailure: ({ message }) => [`Computer ${name} has no desktop to show: ${message}`]
      }),
    { concurrency: "unbounded" }
  )
  return { content: desktops.flat().map((line) => ({ type: "text", text: line })) }
})

/**
 * Calls the tools of an office by exposed name. Failures are error results, so that a model can react to them. The caller
 * remembers which tools succeed, and the search ranks those higher.
 */
export const makeToolCaller = (
  agent: Agent["Service"],
  current: Effect.Effect<OfficeTools>,
  { timeout = defaultOfficeCallSeconds }: OfficeToolsOptions,
  largeResults?: LargeResults
) => {
  let usage = noUsage

  const call = Effect.fnUntraced(function* (name: string, params: JsonObject, hooks?: CallHooks) {
    const tools = yield* current
    const ofApps = tools.byName.has(name) ? [] : toolsOfApps(name, tools)
    if (ofApps.length > 1) {
      const names = formatSome(ofApps.map(([full]) => full))
      return errorResult(`Several MCP servers of this office have a tool '${name}': ${names}.`)
    }
    const target = tools.byName.get(name) ?? ofApps[0]?.[1] ?? tools.departed.get(name)
    if (target === undefined) return unknownTool(name, tools)
    const { computer, tool } = target
    const result = yield* Effect.result(agent.callTool({ ...hooks, computer, tool: tool.name, params, timeout }))
    if (Result.isFailure(result)) return errorResult(`The call failed: ${result.failure.message}`)
    if (!result.success.isError) usage = recordUse(usage, name, yield* Clock.currentTimeMillis)
    return toOfficeResult(result.success, target)
  })

  type Run = (params: JsonObject, hooks?: CallHooks) => Effect.Effect<JsonObject>
  const officeTools: { readonly [name: string]: Run } = {
    computers_list: () => Effect.map(agent.view, listComputers),
    desktop_get: (params) => showDesktop(agent, params),
    tools_search: (params) =>
      Effect.zipWith(current, Clock.currentTimeMillis, (tools, now) =>
        searchTools(tools, params, (name) => usageBoost(usage, name, now))
      ),
    tools_describe: (params) => Effect.map(current, (tools) => describeTools(tools, params)),
    [callingTool]: ({ arguments: params = {}, name }, hooks) =>
      typeof name === "string" && isJsonObject(params)
        ? Effect.flatMap(current, (tools) => {
            const target = tools.byName.get(name) ?? tools.departed.get(name)
            // Models call by this tool, and do not see the tools of apps, whose names at their MCP servers hosts may use.
            return target === undefined || isAppOnly(target.tool.meta)
              ? Effect.succeed(unknownTool(name, tools))
              : call(name, params, hooks)
          })
        : Effect.succeed(errorResult("Expected {name, arguments}: the name of a tool, and an object")),
    ...(largeResults && { result_read: largeResults.read })
  }
  return (name: string, params: JsonObject, hooks?: CallHooks): Effect.Effect<JsonObject> => {
    const run = Object.hasOwn(officeTools, name) ? officeTools[name] : undefined
    const result = run === undefined ? call(name, params, hooks) : run(params, hooks)
    return largeResults === undefined ? result : Effect.flatMap(result, largeResults.limit)
  }
}

const unknownTask = (id: string) => protocolFailure(jsonRpcCodes.invalidParams, `There is no task '${id}'`)

/** Makes the tasks of a published office: calls of tools of Computers, which run there. */
export const makeOfficeTasks = (
  agent: Agent["Service"],
  current: Effect.Effect<OfficeTools>,
  largeResults: LargeResults | undefined
): McpTasks => {
  const toFailure = ({ _tag, message }: { readonly _tag: string; readonly message: string }) =>
    protocolFailure(_tag === "TaskLost" ? jsonRpcCodes.invalidParams : jsonRpcCodes.internalError, message)
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
