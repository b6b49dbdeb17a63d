import { Effect } from "effect"
import { exposedName } from "../../domain/tools/exposedNames.ts"
import { makeToolIndex } from "../../domain/tools/ToolIndex.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import type { Tool } from "../../domain/model/Tool.ts"
import type { ToolResult } from "../../domain/model/ToolResult.ts"
import { errorCodes } from "../../domain/model/ProtocolError.ts"
import { matchesToolPattern } from "../../domain/tools/toolPatterns.ts"
import { toMcpResult, toMcpTool } from "../../domain/tools/mcpConversion.ts"
import { errorCodeOf } from "../../domain/tools/errorResults.ts"
import type { Agent } from "../agent/Agent.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import type { OfficeMcpSessionOptions } from "./OfficeMcpSession.ts"

/** A tool of the office under the name that hosts know it by. */
interface OfficeTool {
  readonly computer: string
  readonly tool: Tool
}

/** The tools of an office at one moment. */
export interface OfficeTools {
  readonly byName: ReadonlyMap<string, OfficeTool>
  /** What `tools/list` answers. */
  readonly listed: ReadonlyArray<JsonObject>
}

/** More tools than this are searched, not listed: models choose badly among many. */
const searchThreshold = 60

/** How long a call may take, in seconds: hosts cancel what they do not want to wait for. */
const defaultTimeoutSeconds = 300

/** How many tools a search gives unless asked otherwise, and at most. */
const searchResults = { defaultCount: 10, maxCount: 50 }

const property = (type: string, description: string) => ({ type, description })
const readOnly = { readOnlyHint: true, openWorldHint: false }

/** What the office itself offers; no tool of a Computer has such a name. */
const officeToolListings: ReadonlyArray<JsonObject> = [
  {
    name: "computers_list",
    description: "Lists the Computers of the office: whose tools are here, and how many.",
    inputSchema: { type: "object", properties: {} },
    annotations: { title: "List Computers", ...readOnly }
  },
  {
    name: "desktop_get",
    description:
      "Shows what the windows of a Computer, or of all Computers, say right now: each window begins with its URI.",
    inputSchema: {
      type: "object",
      properties: {
        computer: property("string", "Name of the Computer; all of them when left out"),
        size: { ...property("integer", "At most so many windows of each Computer"), minimum: 1 },
        window: property("string", "Only the window of this exact URI")
      }
    },
    annotations: { title: "Show desktop", ...readOnly }
  }
]

const searchToolListings: ReadonlyArray<JsonObject> = [
  {
    name: "tools_search",
    description:
      "Finds tools of this office by words for what is to be done. Gives names and descriptions; " +
      "tools_describe tells what a tool takes, tools_call calls it.",
    inputSchema: {
      type: "object",
      properties: {
        query: property("string", "Words for what is to be done"),
        limit: {
          ...property("integer", "At most so many tools"),
          minimum: 1,
          maximum: searchResults.maxCount
        }
      },
      required: ["query"]
    },
    annotations: { title: "Search tools", ...readOnly }
  },
  {
    name: "tools_describe",
    description: "Tells everything about tools of this office: what they do, take and give.",
    inputSchema: {
      type: "object",
      properties: { names: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 20 } },
      required: ["names"]
    },
    annotations: { title: "Describe tools", ...readOnly }
  },
  {
    name: "tools_call",
    description: "Calls a tool of this office by the name that tools_search gave.",
    inputSchema: {
      type: "object",
      properties: {
        name: property("string", "Name of the tool"),
        arguments: property("object", "What the tool takes, as tools_describe tells it")
      },
      required: ["name"]
    },
    annotations: { title: "Call a tool" }
  }
]

/** A tool as MCP lists it; where it comes from stands in `_meta`. */
const toListing = (name: string, { computer, tool }: OfficeTool): JsonObject =>
  toMcpTool(name, tool, { a2c_computer: computer, a2c_tool: tool.name })

/** The tools of an office as hosts see them; more than a model can choose from are found by searching. */
export const exposeTools = (
  view: OfficeView,
  { maxToolNameLength, pinned = [], tools = "auto" }: OfficeMcpSessionOptions
): OfficeTools => {
  const byName = new Map<string, OfficeTool>()
  for (const [computer, { tools: listed = [] }] of view.computers) {
    for (const tool of listed) {
      const name = exposedName({ owner: computer, tool: tool.name }, maxToolNameLength)
      if (!byName.has(name)) byName.set(name, { computer, tool })
    }
  }
  const isSearchMode = tools === "search" || (tools === "auto" && byName.size > searchThreshold)
  const shown = [...byName].filter(
    ([, { computer, tool }]) => !isSearchMode || matchesToolPattern(pinned, computer, tool.name)
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

/** What a model can do about a failure that lies with the owner of a Computer. */
const hints: { readonly [code: number]: string } = {
  [errorCodes.confirmationRequired]:
    "The owner of the Computer has to agree to this call. Tell the user, or go on without this tool.",
  [errorCodes.authorizationRequired]:
    "The owner of the Computer has to authorize its MCP server first. Tell the user; trying again does not help.",
  [errorCodes.authorizationFailed]:
    "The rights of the Computer at this service do not suffice. Tell the user; trying again does not help."
}

/** A result as MCP has it; failures of a known kind say what to do. */
const toHintedMcpResult = (result: ToolResult): JsonObject => {
  const hint = hints[errorCodeOf(result) ?? 0]
  return toMcpResult(
    hint === undefined ? result : { ...result, content: [...result.content, { type: "text", text: hint }] }
  )
}

const namesOf = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : []

type ToolsByName = OfficeTools["byName"]

const buildIndex = (byName: ToolsByName) => makeToolIndex([...byName].map(([name, { tool }]) => [name, tool]))

const unknownTool = (name: string, byName: ToolsByName): JsonObject => {
  const similar = buildIndex(byName).search(name, 3)
  const hint = similar.length === 0 ? "" : ` Similar: ${similar.join(", ")}.`
  return errorResult(`There is no tool '${name}' in this office (any more).${hint}`)
}

const searchByQuery = (byName: ToolsByName, { limit, query }: JsonObject): JsonObject => {
  const count =
    typeof limit === "number"
      ? Math.max(1, Math.min(limit, searchResults.maxCount))
      : searchResults.defaultCount
  const names = buildIndex(byName).search(typeof query === "string" ? query : "", count)
  const lines = names.map((name) => `${name}: ${byName.get(name)?.tool.description ?? ""}`)
  const none = `No tool fits; the office has ${byName.size}. Try other words.`
  return textResult(lines.length === 0 ? none : lines.join("\n"))
}

const describeByName = (byName: ToolsByName, { names }: JsonObject): JsonObject => {
  const wanted = namesOf(names)
  const missing = wanted.find((name) => !byName.has(name))
  if (missing !== undefined) return unknownTool(missing, byName)
  const tools = wanted.flatMap((name) => {
    const tool = byName.get(name)
    return tool === undefined ? [] : [toListing(name, tool)]
  })
  return textResult(JSON.stringify(tools, null, 2))
}

const noComputers = "No Computer is in this office."

const listComputers = ({ computers }: OfficeView): JsonObject => {
  const lines = [...computers].map(([name, { tools }]) =>
    tools === undefined ? `${name}: not known yet` : `${name}: ${tools.length} tools`
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
  const options = {
    ...(typeof size === "number" && { size }),
    ...(typeof window === "string" && { window })
  }
  const desktops = yield* Effect.forEach(
    typeof computer === "string" ? [computer] : [...computers.keys()],
    (name) =>
      Effect.match(agent.getDesktop(name, options), {
        onSuccess: (windows) => [`Computer ${name}: ${windows.length} windows`, ...windows],
        onFailure: ({ message }) => [`Computer ${name} cannot be seen: ${message}`]
      }),
    { concurrency: "unbounded" }
  )
  return { content: desktops.flat().map((line) => ({ type: "text", text: line })) }
})

/** Calls the tools of an office by their names there. What fails is a result that says why: a model can act on it. */
export const makeToolCaller = (
  agent: Agent["Service"],
  current: Effect.Effect<OfficeTools>,
  { timeout = defaultTimeoutSeconds }: OfficeMcpSessionOptions
) => {
  const call = Effect.fnUntraced(function* (name: string, params: JsonObject) {
    const { byName } = yield* current
    const target = byName.get(name)
    if (target === undefined) return unknownTool(name, byName)
    const { computer, tool } = target
    return yield* Effect.match(agent.callTool({ computer, tool: tool.name, params, timeout }), {
      onSuccess: toHintedMcpResult,
      onFailure: ({ message }) => errorResult(`The call could not be made: ${message}`)
    })
  })

  return (name: string, params: JsonObject): Effect.Effect<JsonObject> => {
    switch (name) {
      case "computers_list":
        return Effect.map(agent.view, listComputers)
      case "desktop_get":
        return showDesktop(agent, params)
      case "tools_search":
        return Effect.map(current, ({ byName }) => searchByQuery(byName, params))
      case "tools_describe":
        return Effect.map(current, ({ byName }) => describeByName(byName, params))
      case "tools_call": {
        const { arguments: given = {}, name: wanted } = params
        return typeof wanted === "string" && isJsonObject(given)
          ? call(wanted, given)
          : Effect.succeed(errorResult("Expected {name, arguments}: the name of a tool, and an object"))
      }
      default:
        return call(name, params)
    }
  }
}
