import { definedOnly } from "../../domain/objects.ts"
import { McpClientError } from "./McpClientError.ts"
import { type McpClientLike, withSignal } from "./McpClientLike.ts"
import type { McpContents, McpResource, McpTool, McpToolResult } from "./mcpTypes.ts"

/** A tool of the OpenAI Agents SDK. Its type requires members that MCP leaves optional. */
export type AgentsTool = McpTool & {
  inputSchema: { properties: Record<string, unknown>; required: Array<string>; additionalProperties: boolean }
}

/** Content blocks with the other members of the result as properties of the array. */
export type AgentsContent = McpToolResult["content"] & Pick<McpToolResult, "_meta" | "structuredContent" | "isError">

export interface AgentsCallOptions {
  signal?: AbortSignal
}

type AgentsCallParams = [
  name: string,
  params: Record<string, unknown> | null,
  meta?: Record<string, unknown> | null,
  options?: AgentsCallOptions
]

/** The `MCPServerWithResources` of the OpenAI Agents SDK. */
export interface AgentsServer {
  readonly name: string
  cacheToolsList: boolean
  connect(): Promise<void>
  close(): Promise<void>
  listTools(): Promise<Array<AgentsTool>>
  callTool(...request: AgentsCallParams): Promise<AgentsContent>
  callToolResult(...request: AgentsCallParams): Promise<McpToolResult>
  invalidateToolsCache(): Promise<void>
  listResources(params?: { cursor?: string }): Promise<{ resources: Array<McpResource>; nextCursor?: string }>
  listResourceTemplates(): Promise<{ resourceTemplates: Array<never> }>
  readResource(uri: string): Promise<{ contents: Array<McpContents> }>
}

/**
 * Makes an MCP server of the OpenAI Agents SDK, for `new Agent({ mcpServers: [server] })`. Closing it aborts
 * its calls; the client stays open. For structured results use `{ ...server, useStructuredContent: true }`.
 * `meta` is ignored because the office protocol has no field for it.
 */
export const makeAgentsServer = (client: McpClientLike): AgentsServer => {
  let closing = new AbortController()
  const clientUntilClosed = () => withSignal(client, closing.signal)
  const { name } = client.getServerVersion()
  const callToolResult: AgentsServer["callToolResult"] = (tool, params, _meta, options) =>
    clientUntilClosed().callTool({ name: tool, arguments: params ?? {} }, undefined, options)
  return {
    name,
    cacheToolsList: false,
    connect: async () => {
      if (closing.signal.aborted) closing = new AbortController()
    },
    close: async () => closing.abort(McpClientError.closed(`the MCP server '${name}' was closed`)),
    listTools: async () => (await clientUntilClosed().allTools()) as Array<AgentsTool>,
    callTool: async (...request) => {
      const { _meta, content, isError, structuredContent } = await callToolResult(...request)
      return Object.assign([...content], definedOnly({ _meta, structuredContent, isError }))
    },
    callToolResult,
    invalidateToolsCache: async () => undefined,
    listResources: (params) => clientUntilClosed().listResources(params),
    listResourceTemplates: async () => ({ resourceTemplates: [] }),
    readResource: (uri) => clientUntilClosed().readResource({ uri })
  }
}
