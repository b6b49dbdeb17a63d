import { isJsonObject } from "../../domain/json.ts"
import { definedOnly } from "../../domain/objects.ts"
import type { McpClientLike, RequestOptions } from "./McpClientLike.ts"
import { McpToolError } from "./McpClientError.ts"
import { decodeToolResult, type McpToolResult } from "./mcpTypes.ts"
import { type ModelPart, modelPartsOf, onlyTextOf } from "./modelContent.ts"

/** What a model receives from a tool of Mastra. */
export type MastraModelOutput =
  | { type: "text"; value: string }
  | { type: "json"; value: unknown }
  | {
      type: "content"
      value: Array<{ type: "text"; text: string } | { type: "media"; data: string; mediaType: string }>
    }

/** The options of Mastra's `createTool`. */
export interface MastraTool {
  id: string
  description: string
  inputSchema: { type: "object"; properties?: Record<string, object | boolean>; required?: Array<string> }
  mcp: { annotations?: Record<string, unknown>; _meta?: Record<string, unknown> }
  mcpMetadata: { serverName: string; serverVersion: string }
  execute(
    params: unknown,
    context?: { abortSignal?: AbortSignal | undefined; [key: string]: unknown }
  ): Promise<McpToolResult>
  toModelOutput(result: unknown): MastraModelOutput
}

const toOutputPart = (part: ModelPart) =>
  part.type === "text"
    ? { type: part.type, text: part.text }
    : { type: part.type, data: part.data, mediaType: part.mimeType }

const toModelOutput = (output: unknown): MastraModelOutput => {
  // Mastra also has other outputs: the description of invalid params.
  const result = isJsonObject(output) && "content" in output ? decodeToolResult(output) : undefined
  if (result === undefined) return { type: "json", value: output }
  const parts = modelPartsOf(result)
  const text = onlyTextOf(parts)
  return text === undefined ? { type: "content", value: parts.map(toOutputPart) } : { type: "text", value: text }
}

/**
 * Lists the tools for Mastra, for `createTool(tool)`; the id is the name for the model. The result of a tool is that of
 * MCP. A failed tool throws {@link McpToolError}, which Mastra's agents pass to the model. The signal of a run cancels
 * its calls.
 */
export const listMastraTools = async (client: McpClientLike, options?: RequestOptions): Promise<Array<MastraTool>> => {
  const { name: serverName, version: serverVersion } = client.getServerVersion()
  const tools = await client.allTools(options)
  return tools.map(({ _meta, annotations, description = "", inputSchema, name }) => ({
    id: name,
    description,
    inputSchema: inputSchema as MastraTool["inputSchema"],
    mcp: definedOnly({ annotations, _meta }),
    mcpMetadata: { serverName, serverVersion },
    execute: async (params, { abortSignal: signal } = {}) => {
      const result = await client.callTool({ name, arguments: { ...Object(params) } }, undefined, { signal })
      if (result.isError) throw new McpToolError(name, result)
      return result
    },
    toModelOutput
  }))
}
