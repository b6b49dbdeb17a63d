import { asObject, type JsonObject } from "../json.ts"
import type { Tool } from "../model/Tool.ts"
import { parseAnnotations } from "./toolAnnotations.ts"
import { Result } from "effect"
import { parseToolResult, roundedIntegersKey, type ToolResult } from "../model/ToolResult.ts"

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
    _meta: { ...meta, ...asObject(details["_meta"]), ...origin }
  }
}

/** Converts the result of an MCP server for the office: `_meta` becomes `meta`, without reserved keys (spec §6.4). */
export const fromMcpResult = (mcpResult: JsonObject): Result.Result<ToolResult, string> =>
  Result.map(parseToolResult(mcpResult), (result) => {
    if (result.meta === undefined) return result
    const kept = Object.entries(result.meta).filter(([key]) => !key.startsWith("a2c_") || key === roundedIntegersKey)
    return { ...result, meta: Object.fromEntries(kept) }
  })

/** Converts a result of the office to MCP: `meta` becomes `_meta`. */
export const toMcpResult = ({ meta, ...rest }: ToolResult): JsonObject => ({
  ...rest,
  ...(meta !== undefined && { _meta: meta })
})
