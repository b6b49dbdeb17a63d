import { Effect } from "effect"
import { definedOnly } from "../../domain/objects.ts"
import { exposedName } from "../../domain/tools/exposedNames.ts"
import { shortToolName } from "../../domain/tools/naming.ts"
import { makeToolIndex } from "../../domain/tools/ToolIndex.ts"
import { defaultOfficeCallSeconds } from "../../domain/model/fields.ts"
import { asString, isJsonObject, type JsonObject, stringOrEmpty } from "../../domain/json.ts"
import type { Tool } from "../../domain/model/Tool.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { matchesToolPattern } from "../../domain/wildcard.ts"
import { toMcpResult, toMcpTool } from "../../domain/tools/mcpConversion.ts"
import { errorCodeOf } from "../../domain/tools/errorResults.ts"
import type { Agent } from "../agent/Agent.ts"
import type { OnCallStatus } from "../agent/callStatuses.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import { toolDetailsOf } from "./officeServers.ts"
import { formatCount } from "../shared/formatCount.ts"

export interface OfficeToolsOptions {
  /** Maximum length of a tool name; 45 by default, which leaves room for the prefixes of MCP hosts. */
  readonly maxToolNameLength?: number
  /** `all` lists every tool, `search` lists three tools for finding and calling them, `auto` depends on their number. */
  readonly tools?: "all" | "search" | "auto"
  /** Patterns of tools to list in search mode, too: `COMPUTER/TOOL` or `TOOL`. */
  readonly pinned?: ReadonlyArray<string>
  /** Timeout of a call in whole seconds; 300 by default. */
  readonly timeout?: number
}

interface OfficeTool {
  readonly computer: string
  readonly tool: Tool
  /** What its MCP server lists beyond the protocol. */
  readonly details: JsonObject | undefined
}

export interface OfficeTools {
  readonly byName: ReadonlyMap<string, OfficeTool>
  /** The result of `tools/list`. */
  readonly listed: ReadonlyArray<JsonObject>
}

/** `auto` switches to search above this number of tools: models choose badly among many. */
const searchThreshold = 60

const searchResults = { defaultCount: 10, maxCount: 50 }

const property = (type: string, description: string, bounds: JsonObject = {}) => ({ type, description, ...bounds })

const officeTool = (
  name: string,
  title: string,
  description: string,
  properties: JsonObject,
  { isReadOnly = true, required }: { isReadOnly?: boolean; required?: ReadonlyArray<string> } = {}
): JsonObject => ({
  name,
  description,
  inputSchema: { type: "object", properties, ...definedOnly({ required }) },
  annotations: { title, ...(isReadOnly && { readOnlyHint: true, openWorldHint: false }) }
})

/** Tools of the office itself; no exposed name of a Computer's tool equals theirs. */
const officeToolListings: ReadonlyArray<JsonObject> = [
  officeTool(
    "computers_list",
    "List Computers",
    "Lists the Computers of the office and the number of their tools.",
    {}
  ),
  officeTool(
    "desktop_get",
    "Show desktop",
    "Shows the current windows of one Computer or of all Computers. Each window begins with its URI.",
    {
      computer: property("string", "Name of the Computer; all Computers by default"),
      size: property("integer", "Maximum number of windows per Computer", { minimum: 1 }),
      window: property("string", "Only the window with exactly this URI")
    }
  )
]

const searchToolListings: ReadonlyArray<JsonObject> = [
  officeTool(
    "tools_search",
    "Search tools",
    "Finds tools of this office by keywords for a task. Returns names and descriptions; " +
      "tools_describe returns the parameters of a tool, tools_call calls it.",
    {
      query: property("string", "Keywords for the task"),
      limit: property("integer", "Maximum number of tools", { minimum: 1, maximum: searchResults.maxCount })
    },
    { required: ["query"] }
  ),
  officeTool(
    "tools_describe",
    "Describe tools",
    "Returns the full definitions of tools of this office: purpose, parameters and results.",
    { names: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 20 } },
    { required: ["names"] }
  ),
  officeTool(
    "tools_call",
    "Call a tool",
    "Calls a tool of this office by its name from tools_search.",
    {
      name: property("string", "Name of the tool"),
      arguments: property("object", "Arguments of the tool, as tools_describe defines them")
    },
    { required: ["name"], isReadOnly: false }
  )
]

/** Lists a tool for MCP; `_meta` names its origin. */
const toListing = (name: string, { computer, details, tool }: OfficeTool): JsonObject =>
  toMcpTool(name, tool, { a2c_computer: computer, a2c_tool: tool.name }, details)

/** Gives every tool of an office its exposed name and lists the tools, or search tools when there are too many. */
export const exposeTools = (
  view: OfficeView,
  { maxToolNameLength, pinned = [], tools = "auto" }: OfficeToolsOptions
): OfficeTools => {
  const byName = new Map<string, OfficeTool>()
  for (const [computer, { servers = [], tools: listed = [] }] of view.computers) {
    const details = toolDetailsOf(computer, servers)
    for (const tool of listed) {
      const name = exposedName({ owner: computer, tool: tool.name }, maxToolNameLength)
      if (!byName.has(name)) byName.set(name, { computer, tool, details: details.get(tool.name) })
    }
  }
  const isSearchMode = tools === "search" || (tools === "auto" && byName.size > searchThreshold)
  const shown = [...byName].filter(
    ([, { computer, tool }]) =>
      !isSearchMode || [tool.name, shortToolName(tool)].some((name) => matchesToolPattern(pinned, computer, name))
  )
  return {
    byName,
    listed: [
      ...officeToolListings,
      ...(isSearchMode ? searchToolListings : []),
      ...shown.map(([name, tool]) => toListing(name, tool))
    ]
  }
}

const textResult = (value: string): JsonObject => ({ content: [{ type: "text", text: value }] })
const errorResult = (value: string): JsonObject => ({ ...textResult(value), isError: true })

/** Advice to the model for failures that only the owner of a Computer can fix. */
const hints: { readonly [code: number]: string } = {
  [errorCodes.confirmationRequired]:
    "The owner of the Computer must confirm this call. Tell the user, or continue without this tool.",
  [errorCodes.authorizationRequired]:
    "The owner of the Computer must authorize its MCP server first. Tell the user; a retry does not help.",
  [errorCodes.authorizationFailed]: "The Computer lacks rights at this service. Tell the user; a retry does not help."
}

const toHintedMcpResult = (result: ToolResult): JsonObject => {
  const hint = hints[errorCodeOf(result) ?? 0]
  return toMcpResult(
    hint === undefined ? result : { ...result, content: [...result.content, { type: "text", text: hint }] }
  )
}

type ToolsByName = OfficeTools["byName"]

const buildIndex = (byName: ToolsByName) => makeToolIndex([...byName].map(([name, { tool }]) => [name, tool]))

const unknownTool = (name: string, byName: ToolsByName): JsonObject => {
  const similar = buildIndex(byName).search(name, 3)
  const hint = similar.length === 0 ? "" : ` Similar: ${similar.join(", ")}.`
  return errorResult(`There is no tool '${name}' in this office (any more).${hint}`)
}

const searchByQuery = (byName: ToolsByName, { limit, query }: JsonObject): JsonObject => {
  const count =
    typeof limit === "number" ? Math.max(1, Math.min(limit, searchResults.maxCount)) : searchResults.defaultCount
  const names = buildIndex(byName).search(stringOrEmpty(query), count)
  const lines = names.map((name) => `${name}: ${byName.get(name)?.tool.description ?? ""}`)
  const none = `No tool matches; the office has ${formatCount(byName.size, "tool")}. Try other keywords.`
  return textResult(lines.length === 0 ? none : lines.join("\n"))
}

const describeByName = (byName: ToolsByName, { names }: JsonObject): JsonObject => {
  const listings: Array<JsonObject> = []
  for (const name of Array.isArray(names) ? names : []) {
    if (typeof name !== "string") continue
    const tool = byName.get(name)
    if (tool === undefined) return unknownTool(name, byName)
    listings.push(toListing(name, tool))
  }
  return textResult(JSON.stringify(listings, null, 2))
}

const noComputers = "No Computer is in this office."

const listComputers = ({ computers }: OfficeView): JsonObject => {
  const lines = [...computers].map(([name, { tools }]) =>
    tools === undefined ? `${name}: tools not loaded yet` : `${name}: ${formatCount(tools.length, "tool")}`
  )
  return textResult(lines.length === 0 ? noComputers : lines.join("\n"))
}

const showDesktop = Effect.fnUntraced(function* (
  agent: Agent["Service"],
  { computer, size, window }: JsonObject
): Effect.fn.Return<JsonObject> {
  const { computers } = yield* agent.view
  if (computers.size === 0) return textResult(noComputers)
  if (typeof computer === "string" && !computers.has(computer)) {
    return errorResult(`There is no Computer '${computer}' here, only ${[...computers.keys()].join(", ")}`)
  }
  const options = definedOnly({ size: typeof size === "number" ? size : undefined, window: asString(window) })
  const desktops = yield* Effect.forEach(
    typeof computer === "string" ? [computer] : [...computers.keys()],
    (name) =>
      Effect.match(agent.getDesktop(name, options), {
        onSuccess: (windows) => [`Computer ${name}: ${formatCount(windows.length, "window")}`, ...windows],
        onFailure: ({ message }) => [`Computer ${name} has no desktop to show: ${message}`]
      }),
    { concurrency: "unbounded" }
  )
  return { content: desktops.flat().map((line) => ({ type: "text", text: line })) }
})

/** Calls the tools of an office by exposed name. Failures are error results, so that a model can react to them. */
export const makeToolCaller = (
  agent: Agent["Service"],
  current: Effect.Effect<OfficeTools>,
  { timeout = defaultOfficeCallSeconds }: OfficeToolsOptions
) => {
  const call = Effect.fnUntraced(function* (name: string, params: JsonObject, onStatus?: OnCallStatus) {
    const { byName } = yield* current
    const target = byName.get(name)
    if (target === undefined) return unknownTool(name, byName)
    const { computer, tool } = target
    return yield* Effect.match(agent.callTool({ computer, tool: tool.name, params, timeout, onStatus }), {
      onSuccess: toHintedMcpResult,
      onFailure: ({ message }) => errorResult(`The call failed: ${message}`)
    })
  })

  type Run = (params: JsonObject, onStatus?: OnCallStatus) => Effect.Effect<JsonObject>
  const officeTools: { readonly [name: string]: Run } = {
    computers_list: () => Effect.map(agent.view, listComputers),
    desktop_get: (params) => showDesktop(agent, params),
    tools_search: (params) => Effect.map(current, ({ byName }) => searchByQuery(byName, params)),
    tools_describe: (params) => Effect.map(current, ({ byName }) => describeByName(byName, params)),
    tools_call: ({ arguments: params = {}, name }, onStatus) =>
      typeof name === "string" && isJsonObject(params)
        ? call(name, params, onStatus)
        : Effect.succeed(errorResult("Expected {name, arguments}: the name of a tool, and an object"))
  }
  return (name: string, params: JsonObject, onStatus?: OnCallStatus): Effect.Effect<JsonObject> => {
    const run = Object.hasOwn(officeTools, name) ? officeTools[name] : undefined
    return run === undefined ? call(name, params, onStatus) : run(params, onStatus)
  }
}
