import type { JsonObject } from "../json.ts"
import type { ToolResult } from "../model/ToolResult.ts"

/** The key of a result's `meta` for the transformed event as JSON text (spec §6.7). */
export const transformedEventKey = "a2c_vrl_transformed"

export interface VrlCall {
  /** The tool's name at its MCP server. */
  readonly tool: string
  readonly params: JsonObject
}

/** The script of a server's configuration; `undefined` for `null` and blank text. */
export const vrlScript = (vrl: string | null) => (vrl === null || vrl.trim() === "" ? undefined : vrl)

/** Makes the input of a script: the result, and the call under keys that the tool cannot forge. */
export const toVrlEvent = (result: ToolResult, { params, tool }: VrlCall): JsonObject => ({
  ...result,
  tool_name: tool,
  parameters: params
})

export const addTransformedEvent = (result: ToolResult, event: unknown): ToolResult => ({
  ...result,
  meta: { ...result.meta, [transformedEventKey]: JSON.stringify(event) ?? "null" }
})

/** Removes the transformed event, for connections whose message limit does not allow both. */
export const removeTransformedEvent = (result: ToolResult): ToolResult => {
  if (result.meta === undefined || !Object.hasOwn(result.meta, transformedEventKey)) return result
  const { [transformedEventKey]: _dropped, ...meta } = result.meta
  return { ...result, meta }
}
