import type { JsonObject } from "../json.ts"
import type { Tool } from "../model/Tool.ts"
import { parseAnnotations } from "./toolMeta.ts"
import { Result } from "effect"
import { parseToolResult, type ToolResult } from "../model/ToolResult.ts"

/** A tool of the office as MCP lists it: under this name, its annotations real again, with `origin` in its `_meta`. */
export const toMcpTool = (
  name: string,
  { description, meta, paramsSchema, returnSchema }: Tool,
  origin: JsonObject = {}
): JsonObject => {
  const annotations = parseAnnotations(meta ?? undefined)
  return {
    name,
    description,
    inputSchema: { type: "object", ...paramsSchema },
    ...(returnSchema !== null && { outputSchema: returnSchema }),
    ...(annotations !== undefined && { annotations }),
    _meta: { ...meta, ...origin }
  }
}

/** What an MCP server answered, as the office gets it: untouched, but `_meta` stands under `meta` (spec §6.4). */
export const fromMcpResult = (mcpResult: JsonObject): Result.Result<ToolResult, string> =>
  Result.map(parseToolResult(mcpResult), (result) => {
    if (result.meta === undefined) return result
    const kept = Object.entries(result.meta).filter(([key]) => !key.startsWith("a2c_"))
    return { ...result, meta: Object.fromEntries(kept) }
  })

/** A result of the office as MCP has it: what stands under `meta` is `_meta` again. */
export const toMcpResult = ({ meta, ...rest }: ToolResult): JsonObject => ({
  ...rest,
  ...(meta !== undefined && { _meta: meta })
})
