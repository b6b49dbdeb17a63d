import type { McpToolResult } from "./mcpTypes.ts"
import { modelTextOf } from "./modelContent.ts"

/** A failed tool, for frameworks whose tools throw. The message is the text of the result. */
export class McpToolError extends Error {
  override readonly name = "McpToolError"
  /** The result with `isError`, as the tool returned it. */
  readonly result: McpToolResult

  constructor(tool: string, result: McpToolResult) {
    super(modelTextOf(result) || `tool '${tool}' failed`)
    this.result = result
  }
}
