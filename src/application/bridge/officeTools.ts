import { Effect } from "effect"
import { exposedName } from "../../domain/bridge/names.ts"
import { indexTools } from "../../domain/bridge/search.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import type { SmcpTool, ToolResult } from "../../domain/protocol/v0_2/tools.ts"
import { codes } from "../../domain/refusal.ts"
import { approves } from "../../domain/tools/approval.ts"
import { toMcpTool } from "../../domain/tools/listing.ts"
import { errorCodeOf, toMcpResult } from "../../domain/tools/result.ts"
import type { Agent } from "../agent/Agent.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import type { OfficeSessionOptions } from "./OfficeSession.ts"

/** A tool of the office under the name that hosts know it by. */
interface OfficeTool {
  readonly computer: string
  readonly tool: SmcpTool
}

/** The tools of an office at one moment. */
export interface OfficeTools {
  readonly byName: ReadonlyMap<string, OfficeTool>
  /** What `tools/list` answers. */
  readonly listed: ReadonlyArray<JsonObject>
}

/** More tools than this are searched, not listed: models choose badly among many. */
const searchAbove = 60

/** How long a call may take, in seconds: hosts cancel what they do not want to wait for. */
const usualTimeout = 300

/** How many tools a search gives unless asked otherwise, and at most. */
const found = { usual: 10, most: 50 }

const text = (type: string, description: string) => ({ type, description })
const readOnly = { readOnlyHint: true, openWorldHint: false }

/** What the office itself offers; no tool of a Computer has such a name. */
const ownTools: ReadonlyArray<JsonObject> = [
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
        computer: text("string", "Name of the Computer; all of them when left out"),
        size: { ...text("integer", "At most so many windows of each Computer"), minimum: 1 },
        window: text("string", "Only the window of this exact URI")
      }
    },
    annotations: { title: "Show desktop", ...readOnly }
  }
]

const searchTools: ReadonlyArray<JsonObject> = [
  {
    name: "tools_search",
    description:
      "Finds tools of this office by words for what is to be done. Gives names and descriptions; " +
      "tools_describe tells what a tool takes, tools_call calls it.",
    inputSchema: {
      type: "object",
      properties: {
        query: text("string", "Words for what is to be done"),
        limit: { ...text("integer", "At most so many tools"), minimum: 1, maximum: found.most }
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
        name: text("string", "Name of the tool"),
        arguments: text("object", "What the tool takes, as tools_describe tells it")
      },
      required: ["name"]
    },
    annotations: { title: "Call a tool" }
  }
]

/** A tool as MCP lists it; where it comes from stands in `_meta`. */
const listing = (name: string, { computer, tool }: OfficeTool): JsonObject =>
  toMcpTool(name, tool, { a2c_computer: computer, a2c_tool: tool.name })

/** The tools of an office as hosts see them; more than a model can choose from are found by searching. */
export const toolsOf = (
  view: OfficeView,
  { budget, pinned = [], tools = "auto" }: OfficeSessionOptions
): OfficeTools => {
  const byName = new Map<string, OfficeTool>()
  for (const [computer, { tools: listed = [] }] of view.computers) {
    for (const tool of listed) {
      const name = exposedName({ owner: computer, tool: tool.name }, budget)
      if (!byName.has(name)) byName.set(name, { computer, tool })
    }
  }
  const isSearched = tools === "search" || (tools === "auto" && byName.size > searchAbove)
  const shown = [...byName].filter(
    ([, { computer, tool }]) => !isSearched || approves(pinned, computer, tool.name)
  )
  return {
    byName,
    listed: [
      ...ownTools,
      ...(isSearched ? searchTools : []),
      ...shown.map(([name, tool]) => listing(name, tool))
    ]
  }
}

const said = (value: string): JsonObject => ({ content: [{ type: "text", text: value }] })
const failed = (value: string): JsonObject => ({ ...said(value), isError: true })

/** What a model can do about a failure that lies with the owner of a Computer. */
const advice: { readonly [code: number]: string } = {
  [codes.confirmationRequired]:
    "The owner of the Computer has to agree to this call. Tell the user, or go on without this tool.",
  [codes.authorizationRequired]:
    "The owner of the Computer has to authorize its MCP server first. Tell the user; trying again does not help.",
  [codes.authorizationFailed]:
    "The rights of the Computer at this service do not suffice. Tell the user; trying again does not help."
}

/** A result as MCP has it; failures of a known kind say what to do. */
const toMcp = (result: ToolResult): JsonObject => {
  const hint = advice[errorCodeOf(result) ?? 0]
  return toMcpResult(
    hint === undefined ? result : { ...result, content: [...result.content, { type: "text", text: hint }] }
  )
}

const namesOf = (value: unknown): ReadonlyArray<string> =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : []

type Named = OfficeTools["byName"]

const indexOf = (byName: Named) => indexTools([...byName].map(([name, { tool }]) => [name, tool]))

const unknown = (name: string, byName: Named): JsonObject => {
  const near = indexOf(byName).search(name, 3)
  const hint = near.length === 0 ? "" : ` Similar: ${near.join(", ")}.`
  return failed(`There is no tool '${name}' in this office (any more).${hint}`)
}

const search = (byName: Named, { limit, query }: JsonObject): JsonObject => {
  const most = typeof limit === "number" ? Math.max(1, Math.min(limit, found.most)) : found.usual
  const names = indexOf(byName).search(typeof query === "string" ? query : "", most)
  const lines = names.map((name) => `${name}: ${byName.get(name)?.tool.description ?? ""}`)
  const none = `No tool fits; the office has ${byName.size}. Try other words.`
  return said(lines.length === 0 ? none : lines.join("\n"))
}

const describe = (byName: Named, { names }: JsonObject): JsonObject => {
  const wanted = namesOf(names)
  const missing = wanted.find((name) => !byName.has(name))
  if (missing !== undefined) return unknown(missing, byName)
  const tools = wanted.flatMap((name) => {
    const tool = byName.get(name)
    return tool === undefined ? [] : [listing(name, tool)]
  })
  return said(JSON.stringify(tools, null, 2))
}

const nobody = "No Computer is in this office."

const listComputers = ({ computers }: OfficeView): JsonObject => {
  const lines = [...computers].map(([name, { tools }]) =>
    tools === undefined ? `${name}: not known yet` : `${name}: ${tools.length} tools`
  )
  return said(lines.length === 0 ? nobody : lines.join("\n"))
}

const showDesktop = Effect.fnUntraced(function* (
  agent: Agent["Service"],
  { computer, size, window }: JsonObject
): Effect.fn.Return<JsonObject> {
  const { computers } = yield* agent.view
  if (computers.size === 0) return said(nobody)
  if (typeof computer === "string" && !computers.has(computer)) {
    return failed(`There is no Computer '${computer}' here, only ${[...computers.keys()].join(", ")}`)
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
export const makeCaller = (
  agent: Agent["Service"],
  current: Effect.Effect<OfficeTools>,
  { timeout = usualTimeout }: OfficeSessionOptions
) => {
  const call = Effect.fnUntraced(function* (name: string, params: JsonObject) {
    const { byName } = yield* current
    const target = byName.get(name)
    if (target === undefined) return unknown(name, byName)
    const { computer, tool } = target
    return yield* Effect.match(agent.callTool({ computer, tool: tool.name, params, timeout }), {
      onSuccess: toMcp,
      onFailure: ({ message }) => failed(`The call could not be made: ${message}`)
    })
  })

  return (name: string, params: JsonObject): Effect.Effect<JsonObject> => {
    switch (name) {
      case "computers_list":
        return Effect.map(agent.view, listComputers)
      case "desktop_get":
        return showDesktop(agent, params)
      case "tools_search":
        return Effect.map(current, ({ byName }) => search(byName, params))
      case "tools_describe":
        return Effect.map(current, ({ byName }) => describe(byName, params))
      case "tools_call": {
        const { arguments: given = {}, name: wanted } = params
        return typeof wanted === "string" && isJsonObject(given)
          ? call(wanted, given)
          : Effect.succeed(failed("Expected {name, arguments}: the name of a tool, and an object"))
      }
      default:
        return call(name, params)
    }
  }
}
