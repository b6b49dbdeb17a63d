/**
 * Offices for agent frameworks: a session as an MCP client by its shape, which the Anthropic SDK takes as it is, and on
 * it an MCP server for the OpenAI Agents SDK and a transport for the AI SDK. All in this process, without a network.
 */
export {
  type AgentsCallOptions,
  type AgentsContent,
  type AgentsServer,
  makeAgentsServer,
  type AgentsTool
} from "../../adapters/llm/agentsServer.ts"
export { type AiSdkTransport, makeAiSdkTransport } from "../../adapters/llm/aiSdkTransport.ts"
export {
  type CallOptions,
  type CallParams,
  type ListParams,
  type McpClientLike,
  makeMcpClient,
  type RequestOptions,
  withSignal
} from "../../adapters/llm/McpClientLike.ts"
export { McpClientError } from "../../adapters/llm/McpClientError.ts"
export type {
  McpContent,
  McpContents,
  McpResource,
  McpTool,
  McpToolResult
} from "../../adapters/llm/mcpTypes.ts"
