import { Result } from "effect"
import { asObject, isJsonObject, type JsonObject } from "../json.ts"
import type { Tool } from "../model/Tool.ts"
import { definedOnly } from "../objects.ts"
import { parseToolResult, type ToolResult } from "../model/ToolResult.ts"
import { isSelfContained } from "../schemas/repairSchema.ts"
import { type ListName, type OmittedItem, repairListed, withoutReservedKeys } from "./listings/mcpListings.ts"
import { repairResult, withoutRejectedParts, withoutReservedParts } from "./results/repairResult.ts"
import { parseAnnotations } from "./toolAnnotations.ts"
import { toolMetaKey } from "./toolMeta.ts"

/**
 * Converts a tool of the office to MCP: restores its annotations, and adds `origin` to its `_meta`. `details` are what its
 * MCP server lists beyond that, unchanged.
 */
export const toMcpTool = (
  name: string,
  { description, meta, paramsSchema, returnSchema }: Tool,
  origin: JsonObject = {},
  details: JsonObject = {}
): JsonObject => {
  const annotations = parseAnnotations(meta)
  return {
    ...details,
    name,
    description,
    inputSchema: { type: "object", ...paramsSchema },
    ...(returnSchema !== null && { outputSchema: returnSchema }),
    ...(annotations !== undefined && { annotations }),
    _meta: {
      ...withoutReservedKeys(meta ?? {}, (key) => key === toolMetaKey),
      ...withoutReservedKeys(asObject(details["_meta"])),
      ...origin
    }
  }
}

/** Gives a schema of results that every client compiles, if it is one. */
const toOutputSchema = ({ $id: _, ...schema }: JsonObject): JsonObject | undefined => {
  const { properties, type = properties === undefined ? undefined : "object" } = schema
  return isSelfContained(schema) ? { ...schema, ...definedOnly({ type }) } : undefined
}

/** Gives an item of a list as every MCP client accepts it. Fails for one that clients cannot use. */
export const publishListed = (list: ListName, item: unknown): Result.Result<JsonObject, OmittedItem> =>
  Result.map(repairListed(list, item), (repaired) => {
    if (list !== "tools") return { name: repaired["uri"] ?? repaired["uriTemplate"], ...repaired }
    const { inputSchema, outputSchema, ...listed } = repaired
    return {
      ...listed,
      inputSchema: { type: "object", ...asObject(inputSchema) },
      ...definedOnly({ outputSchema: isJsonObject(outputSchema) ? toOutputSchema(outputSchema) : undefined })
    }
  })

/**
 * Lists a tool as {@link toMcpTool} makes it, with a schema of results only where every revision of MCP allows it. Fails for a
 * tool that clients cannot call.
 */
export const publishTool = (...tool: Parameters<typeof toMcpTool>): Result.Result<JsonObject, OmittedItem> =>
  Result.map(publishListed("tools", toMcpTool(...tool)), ({ outputSchema, ...listed }) => ({
    ...listed,
    ...(asObject(outputSchema)["type"] === "object" && { outputSchema })
  }))

/**
 * Converts the result of an MCP server for the office, with repaired content: `_meta` becomes `meta`, without reserved keys
 * (spec §6.4), which may be at either name and in blocks.
 */
export const fromMcpResult = (mcpResult: JsonObject): Result.Result<ToolResult, string> => {
  const { meta, ...result } = withoutReservedParts(repairResult(mcpResult))
  return parseToolResult(isJsonObject(meta) ? { ...result, meta: withoutReservedKeys(meta) } : result)
}

/** Converts a result of the office to MCP: `meta` becomes `_meta`. */
export const toMcpResult = ({ meta, ...rest }: ToolResult): JsonObject => ({ ...rest, ...definedOnly({ _meta: meta }) })

/** Converts a result of a tool of the office for MCP clients, as {@link toMcpResult} does, without what they reject. */
export const publishResult = (result: ToolResult, tool: Tool | undefined): JsonObject =>
  withoutRejectedParts(toMcpResult(result), tool?.returnSchema ?? undefined)
