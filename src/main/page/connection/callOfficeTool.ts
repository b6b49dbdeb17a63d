import { asObject, isJsonObject, type JsonObject, parseJson, stringOrEmpty } from "../../../domain/json.ts"
import type { PageCallMessage, PageCallRequest } from "../../../domain/page/PageCommand.ts"
import { openStream } from "./api.ts"
import { mcpToolName } from "../../../domain/model/messages/mcpNames.ts"

/** Splits a stream of texts into lines without their ends. */
async function* linesOf(stream: ReadableStream<string>): AsyncGenerator<string> {
  const reader = stream.getReader()
  let line = ""
  for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
    const [end = "", ...next] = chunk.value.split("\n")
    line += end
    for (const start of next) {
      yield line
      line = start
    }
  }
  yield line
}

/** Calls a tool and yields the messages of the call. The signal cancels the call. */
export async function* callOfficeTool(request: PageCallRequest, signal: AbortSignal): AsyncGenerator<PageCallMessage> {
  for await (const line of linesOf(await openStream("calls", request, signal))) {
    if (line.trim() !== "") yield parseJson(line) as PageCallMessage
  }
}

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
