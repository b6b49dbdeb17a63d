/**
 * Offices for agent frameworks, in process and without a network: an MCP client shape for the Anthropic SDK, an MCP
 * server for the OpenAI Agents SDK, and a transport for the AI SDK.
 */
import "./requireNode.ts"
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
export type { McpContent, McpContents, McpResource, McpTool, McpToolResult } from "../../adapters/llm/mcpTypes.ts"
