import { definedOnly } from "../../domain/objects.ts"
import type { McpClientLike, RequestOptions } from "./McpClientLike.ts"
import { McpToolError } from "./McpClientError.ts"
import type { McpTool, McpToolResult } from "./mcpTypes.ts"
import { type ModelPart, modelPartsOf, onlyTextOf } from "./modelContent.ts"

/** A content block of a LangChain message, in the form that the packages of all providers convert. */
export type LangChainBlock =
  | { type: "text"; text: string }
  | { type: "image_url"; image_url: { url: string } }
  | { type: "audio"; source_type: "base64"; data: string; mime_type: string }

/** The fields of LangChain's `DynamicStructuredTool`. */
export interface LangChainTool {
  name: string
  description: string
  schema: McpTool["inputSchema"]
  metadata: Record<string, unknown>
  responseFormat: "content_and_artifact"
  /** Resolves with the content for the model, and with the result of the tool as the artifact of the message. */
  func(
    params: Record<string, unknown>,
    manager?: unknown,
    config?: { signal?: AbortSignal | undefined }
  ): Promise<[content: string | Array<LangChainBlock>, artifact: McpToolResult]>
}

const toBlock = (part: ModelPart): LangChainBlock => {
  if (part.type === "text") return { type: "text", text: part.text }
  const { data, mimeType } = part
  return mimeType.startsWith("image/")
    ? { type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } }
    : { type: "audio", source_type: "base64", data, mime_type: mimeType }
}

/**
 * Lists the tools for LangChain, for `new DynamicStructuredTool(tool)`. A failed tool throws {@link McpToolError},
 * which LangChain's agents pass to the model. The signal of a run cancels its calls.
 */
export const listLangChainTools = async (
  client: McpClientLike,
  options?: RequestOptions
): Promise<Array<LangChainTool>> => {
  const tools = await client.allTools(options)
  return tools.map(({ _meta, annotations, description = "", inputSchema, name }) => ({
    name,
    description,
    schema: inputSchema,
    metadata: definedOnly({ annotations, _meta }),
    responseFormat: "content_and_artifact",
    func: async (params, _manager, { signal } = {}) => {
      const result = await client.callTool({ name, arguments: params }, undefined, { signal })
      if (result.isError) throw new McpToolError(name, result)
      const parts = modelPartsOf(result)
      return [onlyTextOf(parts) ?? parts.map(toBlock), result]
    }
  }))
}
