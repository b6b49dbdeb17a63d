import type { JsonObject } from "../json.ts"
import { type ToolResult } from "../model/ToolResult.ts"
import { errorCodes } from "../model/ProtocolError.ts"

const errorResult = (text: string, meta: JsonObject): ToolResult => ({
  content: [{ type: "text", text }],
  isError: true,
  meta
})

/** A call that failed before or instead of a tool's own answer; `code` is one of the 4001…4007. */
export const toolError = (code: number, text: string, meta: JsonObject = {}): ToolResult =>
  errorResult(text, { error_code: code, ...meta })

/** No such tool on this Computer (4001). */
export const toolNotFound = (name: string): ToolResult =>
  toolError(errorCodes.toolNotFound, `Tool '${name}' not found on this Computer`)

/** The Computer's owner forbids the tool (4002). */
export const toolDisabled = (name: string): ToolResult =>
  toolError(errorCodes.toolDisabled, `Tool '${name}' is disabled on this Computer`)

/** The MCP server failed to answer (4003). */
export const toolFailed = (message: string, details: JsonObject = {}): ToolResult =>
  toolError(errorCodes.toolFailed, message, details)

/** A person must agree first, and nobody did (4005, spec §6.5). */
export const confirmationRequired = (message: string): ToolResult =>
  toolError(errorCodes.confirmationRequired, message)

/** The call took longer than it may (4004): the same words on every side, both markers (spec §6.4). */
export const toolTimedOut = (side: "agent" | "computer"): ToolResult =>
  errorResult("Tool call timeout", {
    ...(side === "computer" && { error_code: errorCodes.toolTimeout }),
    timeout: true,
    a2c_timeout: true
  })

/** The call was given up (spec §6.3). */
export const toolCancelled = (reason = "agent_requested"): ToolResult =>
  errorResult("Tool call cancelled", { a2c_cancelled: true, a2c_cancel_reason: reason })

/** The protocol's code in a failed result, if it carries one. */
export const errorCodeOf = (result: ToolResult): number | undefined => {
  const code = result.meta?.["error_code"]
  return result.isError && typeof code === "number" ? code : undefined
}
