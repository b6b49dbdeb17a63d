import type { JsonObject } from "../json.ts"
import type { ToolResult } from "../model/ToolResult.ts"

/** Key of a result's `meta` under which the event stands as a script left it, as a JSON text (spec §6.7). */
export const transformedEventKey = "a2c_vrl_transformed"

/** The call whose result a script sees. */
export interface VrlCall {
  /** The tool's name at its MCP server, whatever the office calls it. */
  readonly tool: string
  readonly params: JsonObject
}

/** The script of a server's configuration; `null` and blank text are none. */
export const vrlScript = (vrl: string | null): string | undefined =>
  vrl === null || vrl.trim() === "" ? undefined : vrl

/** What a script works on: the result and, in words no tool can forge, the call it belongs to. */
export const toVrlEvent = (result: ToolResult, { params, tool }: VrlCall): JsonObject => ({
  ...result,
  tool_name: tool,
  parameters: params
})

/** The result with the transformed event added; whatever else it says stays as it is. */
export const addTransformedEvent = (result: ToolResult, event: unknown): ToolResult => ({
  ...result,
  meta: { ...result.meta, [transformedEventKey]: JSON.stringify(event) ?? "null" }
})

/** The result without the transformed event, for connections that cannot carry both. */
export const removeTransformedEvent = (result: ToolResult): ToolResult => {
  if (result.meta === undefined || !Object.hasOwn(result.meta, transformedEventKey)) return result
  const { [transformedEventKey]: _dropped, ...meta } = result.meta
  return { ...result, meta }
}
