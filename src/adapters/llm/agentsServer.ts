import { definedOnly } from "../../domain/definedOnly.ts"
import { McpClientError } from "./McpClientError.ts"
import { type McpClientLike, withSignal } from "./McpClientLike.ts"
import type { McpContents, McpResource, McpTool, McpToolResult } from "./mcpTypes.ts"

/**
 * A tool in the words of the OpenAI Agents SDK. Its type asks of a schema what MCP leaves open; its converter does not,
 * and fills in what is missing.
 */
export type AgentsTool = McpTool & {
  inputSchema: { properties: Record<string, unknown>; required: Array<string>; additionalProperties: boolean }
}

/** The blocks of a result with what was said beside them, where the OpenAI Agents SDK looks for it. */
export type AgentsContent = McpToolResult["content"] &
  Pick<McpToolResult, "_meta" | "structuredContent" | "isError">

/** What may be told about a call. */
export interface AgentsCallOptions {
  signal?: AbortSignal
}

type AgentsCallParams = [
  name: string,
  args: Record<string, unknown> | null,
  meta?: Record<string, unknown> | null,
  options?: AgentsCallOptions
]

/** The `MCPServerWithResources` of the OpenAI Agents SDK by its shape. */
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
 * An MCP client as an MCP server of the OpenAI Agents SDK, for `new Agent({ mcpServers: [server] })`. Closing it stops
 * the calls made through it; the client goes on. To give the model structured results instead of text, take
 * `{ ...server, useStructuredContent: true }`. What a host says in `meta` is not passed on: offices have no place for it.
 */
export const makeAgentsServer = (client: McpClientLike): AgentsServer => {
  let closing = new AbortController()
  const clientUntilClosed = () => withSignal(client, closing.signal)
  const { name } = client.getServerVersion()
  const callToolResult: AgentsServer["callToolResult"] = (tool, args, _meta, options) =>
    clientUntilClosed().callTool({ name: tool, arguments: args ?? {} }, undefined, options)
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
