import { asObject, isJsonObject, type JsonObject, stringOrEmpty } from "../../../domain/json.ts"
import type { PageCallRequest } from "../../../domain/page/PageCommand.ts"
import { callOfficeTool } from "./api.ts"
import { mcpToolName } from "../../../domain/model/messages/mcpNames.ts"

/** Calls a tool, and resolves with its result as the office has it. */
export const callToolOnce = async (request: PageCallRequest, signal: AbortSignal): Promise<JsonObject> => {
  for await (const message of callOfficeTool(request, signal)) {
    if (message._tag === "Result") return message.result
    if (message._tag === "Failed") throw new Error(message.error.message)
  }
  throw new Error("The Server ended the reply before the result")
}

/** In whole seconds. */
const requestTimeout = 30

/**
 * Sends a request to an MCP server of a Computer, as a call of the operator: it needs the same rights. Rejects with the
 * error of the MCP server.
 */
export const mcpRequest = async (
  computer: Pick<PageCallRequest, "line" | "office" | "computer">,
  request: { readonly method: string; readonly server: string; readonly params: JsonObject },
  signal: AbortSignal
): Promise<JsonObject> => {
  const call = { ...computer, tool: mcpToolName, params: { ...request }, timeout: requestTimeout }
  const { failure, result } = asObject((await callToolOnce(call, signal))["structuredContent"])
  if (isJsonObject(result)) return result
  throw new Error(
    stringOrEmpty(asObject(failure)["message"]) || "This Computer does not pass on the apps of its MCP servers"
  )
}
