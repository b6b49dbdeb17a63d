import { truncateQuote } from "../errorMessage.ts"
import { findRoundedIntegers, type JsonObject, roundedIntegersProblem } from "../json.ts"
import { type FailingServer, formatFailures, formatServerNames } from "../model/CallStatus.ts"
import { type ToolResult } from "../model/ToolResult.ts"
import { errorCodes } from "../model/ProtocolError.ts"

const errorResult = (text: string, meta: JsonObject): ToolResult => ({
  content: [{ type: "text", text }],
  isError: true,
  meta
})

/** The result of a call that failed outside the tool; `code` is one of 4001…4007. */
export const toolError = (code: number, text: string, meta: JsonObject = {}): ToolResult =>
  errorResult(text, { error_code: code, ...meta })

/** `starting` are servers that could still have the tool, and `failing` those that would have it if they started. */
export const toolNotFound = (
  name: string,
  starting: ReadonlyArray<string> = [],
  failing: ReadonlyArray<FailingServer> = []
): ToolResult => {
  const hint = starting.length === 0 ? "" : `; MCP servers that are still starting: ${formatServerNames(starting)}`
  return toolError(
    errorCodes.toolNotFound,
    `Tool '${name}' not found on this Computer${hint}${formatFailures(failing)}`
  )
}

export const toolDisabled = (name: string): ToolResult =>
  toolError(errorCodes.toolDisabled, `Tool '${name}' is disabled on this Computer`)

export const toolFailed = (message: string, details: JsonObject = {}): ToolResult =>
  toolError(errorCodes.toolFailed, message, details)

/** The error for a call whose arguments have integers at these JSON pointers that may be rounded; undefined without any. */
export const rejectRoundedIntegers = (tool: string, params: JsonObject): ToolResult | undefined => {
  const pointers = findRoundedIntegers(params)
  if (pointers.length === 0) return undefined
  const list = pointers.map((pointer) => `\n- ${truncateQuote(pointer)}`).join("")
  return toolFailed(`Tool '${tool}' was not called: ${roundedIntegersProblem}.${list}`)
}

/** The call needs a confirmation that was not given (4005, spec §6.5). */
export const confirmationRequired = (message: string): ToolResult => toolError(errorCodes.confirmationRequired, message)

/** The call timed out (4004). Both sides use the same text and markers (spec §6.4). */
export const toolTimedOut = (side: "agent" | "computer"): ToolResult =>
  errorResult("Tool call timeout", {
    ...(side === "computer" && { error_code: errorCodes.toolTimeout }),
    timeout: true,
    a2c_timeout: true
  })

export const toolCancelled = (reason = "agent_requested"): ToolResult =>
  errorResult("Tool call cancelled", { a2c_cancelled: true, a2c_cancel_reason: reason })

/** The error code of the protocol in a failed result. */
export const errorCodeOf = (result: ToolResult): number | undefined => {
  const code = result.meta?.["error_code"]
  return result.isError && typeof code === "number" ? code : undefined
}
