import type { JsonObject } from "../json.ts"
import type { Tool } from "../model/Tool.ts"
import { parseAnnotations } from "./toolMeta.ts"

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
