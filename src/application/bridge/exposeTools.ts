import { Array, Result } from "effect"
import { appCallMeta, isAppOnly } from "../../domain/tools/appTools.ts"
import { exposedName } from "../../domain/tools/exposedNames.ts"
import { shortToolName } from "../../domain/tools/naming.ts"
import { publishTool } from "../../domain/tools/mcpConversion.ts"
import type { OmittedItem } from "../../domain/tools/listings/mcpListings.ts"
import { type ComputerOffer, describeOffer } from "../../domain/tools/search/describeOffer.ts"
import { makeToolIndex, type ToolIndex } from "../../domain/tools/search/ToolIndex.ts"
import { asObject, type JsonObject } from "../../domain/json.ts"
import type { Tool } from "../../domain/model/Tool.ts"
import { matchesToolPattern } from "../../domain/wildcard.ts"
import type { OfficeView } from "../agent/OfficeView.ts"
import { type ToolOrigin, toolOriginsOf } from "./officeServers.ts"
import { officeToolListings, resultToolListing, searchToolListings } from "./officeToolListings.ts"
import type { ComputerName } from "../../domain/model/ids.ts"

export interface OfficeToolsOptions {
  /** Maximum length of a tool name; 45 by default, which leaves room for the prefixes of MCP hosts. */
  readonly maxToolNameLength?: number
  /** `all` lists every tool, `search` lists three tools for finding and calling them, `auto` depends on their number. */
  readonly tools?: "all" | "search" | "auto"
  /** Patterns of tools that search mode also lists: `COMPUTER/TOOL` or `TOOL`. */
  readonly pinned?: ReadonlyArray<string>
  /**
   * Maximum size of a result of a tool, in bytes of JSON; no limit by default. A larger one becomes its beginning, a summary
   * and a link to the whole. Tools are then listed without `outputSchema`.
   */
  readonly maxResult?: number | undefined
  /** Timeout of a call in whole seconds; 300 by default. */
  readonly timeout?: number
}

export interface OfficeTool {
  readonly computer: ComputerName
  readonly tool: Tool
  /** Missing at Computers that do not tell their MCP servers. */
  readonly origin: ToolOrigin | undefined
}

export interface OfficeTools {
  readonly byName: ReadonlyMap<string, OfficeTool>
  /** Tools that Computers of the office listed before: only they know why they do not list them now. */
  readonly departed: ReadonlyMap<string, OfficeTool>
  /** The result of `tools/list`. */
  readonly listed: ReadonlyArray<JsonObject>
  /** The tools that the list leaves out, because clients would reject it with them. */
  readonly omitted: ReadonlyArray<OmittedItem>
  /** The index of these tools, built at the first search. */
  readonly index: () => ToolIndex
}

/** Maximum number of tools that are remembered after they left. */
const maxDepartedTools = 1000

/** `auto` switches to search above this number of tools: models choose badly among many. */
const searchThreshold = 60

const isSearched = (count: number, { tools = "auto" }: OfficeToolsOptions): boolean =>
  tools === "search" || (tools === "auto" && count > searchThreshold)

const isForModels = ({ meta }: Tool): boolean => !isAppOnly(meta)

/** The MCP servers that the description of the search names; none without a search. */
export const offeredServers = ({ computers }: OfficeView, options: OfficeToolsOptions): ReadonlyArray<string> => {
  const all = [...computers.values()]
  const { length } = all.flatMap(({ tools = [] }) => tools.filter(isForModels))
  return isSearched(length, options) ? all.flatMap(({ servers = [] }) => servers.map(({ id }) => id)) : []
}

/**
 * Lists a tool for MCP; `_meta` names its origin. Its Computer can run it as a task, also for MCP servers without tasks. Fails
 * for a tool that clients would reject with the whole list.
 */
export const toListing = (name: string, { computer, origin, tool }: OfficeTool) => {
  const appCall = origin?.appCall && appCallMeta(origin.appCall)
  const meta = { a2c_computer: computer, a2c_tool: tool.name, ...appCall }
  return Result.map(
    publishTool(name, tool, meta, origin?.details),
    (listed): JsonObject => ({
      ...listed,
      execution: { ...asObject(listed["execution"]), taskSupport: "optional" }
    })
  )
}

/** MCP clients reject a result without the structured content that an `outputSchema` promises, and a limit may drop it. */
const withoutOutputSchema = ({ outputSchema: _, ...listing }: JsonObject): JsonObject => listing

/**
 * Gives every tool of an office its exposed name and lists the tools, or search tools when there are too many. Tools for apps
 * only are always listed, and never found: hosts hide them from the model. `before` are the tools of the view before.
 */
export const exposeTools = (view: OfficeView, options: OfficeToolsOptions, before?: OfficeTools): OfficeTools => {
  const { maxResult, maxToolNameLength, pinned = [] } = options
  const byName = new Map<string, OfficeTool>()
  const offers = new Map<string, ComputerOffer>()
  for (const [computer, { servers = [], tools: listed }] of view.computers) {
    if (listed === undefined) continue
    offers.set(computer, { tools: listed.filter(isForModels), servers: servers.map(({ id }) => id) })
    const origins = toolOriginsOf(computer, servers)
    for (const tool of listed) {
      const name = exposedName({ owner: computer, tool: tool.name }, maxToolNameLength)
      if (!byName.has(name)) byName.set(name, { computer, tool, origin: origins.get(tool.name) })
    }
  }
  const found = [...byName].filter(([, { tool }]) => isForModels(tool))
  const isSearchMode = isSearched(found.length, options)
  const shown = [...byName].filter(
    ([, { computer, tool }]) =>
      !isSearchMode ||
      isAppOnly(tool.meta) ||
      [tool.name, shortToolName(tool)].some((name) => matchesToolPattern(pinned, computer, name))
  )
  const [listings, omitted] = Array.partition(shown, ([name, tool]) => toListing(name, tool))
  let index: ToolIndex | undefined
  const earlier = [...(before?.departed ?? []), ...(before?.byName ?? [])]
  return {
    byName,
    departed: new Map(
      earlier
        .filter(([name, { computer }]) => !byName.has(name) && view.computers.has(computer))
        .slice(-maxDepartedTools)
    ),
    listed: [
      ...officeToolListings,
      ...(isSearchMode ? searchToolListings(describeOffer(offers)) : []),
      ...(maxResult === undefined ? [] : [resultToolListing]),
      ...(maxResult === undefined ? listings : listings.map(withoutOutputSchema))
    ],
    omitted,
    index: () => (index ??= makeToolIndex(found.map(([name, { tool }]) => [name, tool])))
  }
}
