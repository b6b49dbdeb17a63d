import { Result } from "effect"
import { type JsonObject, stringOrEmpty } from "../../domain/json.ts"
import { isAppOnly, isCallableByApps } from "../../domain/tools/appTools.ts"
import { singleLine } from "../../domain/tools/singleLine.ts"
import { formatQuantity } from "../shared/formatQuantity.ts"
import { type OfficeTool, type OfficeTools, toListing } from "./exposeTools.ts"
import { searchResults } from "./officeToolListings.ts"
import { errorResult, textResult } from "./textResults.ts"
import { formatSome } from "../../domain/errorMessage.ts"

/** Characters of a description in the results of a search; `tools_describe` gives the whole. */
const maxDescriptionLength = 240

/** The error for a name without a tool, with similar names. */
export const unknownTool = (name: string, { index }: OfficeTools): JsonObject => {
  const similar = index().search(name, 3)
  const hint = similar.length === 0 ? "" : ` Similar: ${similar.join(", ")}.`
  return errorResult(`There is no tool '${name}' in this office (any more).${hint}`)
}

/** Tools that apps call by this name. Hosts pass such calls on unchanged, without the app. */
export const toolsOfApps = (name: string, { byName }: OfficeTools): ReadonlyArray<readonly [string, OfficeTool]> =>
  [...byName].filter(([, { origin, tool }]) => origin?.appCall?.tool === name && isCallableByApps(tool.meta))

/** The error for the call of an app that several MCP servers may have made. */
export const ambiguousTool = (name: string, found: ReadonlyArray<readonly [string, OfficeTool]>): JsonObject =>
  errorResult(`Several MCP servers of this office have a tool '${name}': ${formatSome(found.map(([full]) => full))}.`)

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
