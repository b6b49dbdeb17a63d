/**
 * Offices for agent frameworks, in process and without a network. The Anthropic SDK takes an MCP client shape, the OpenAI
 * Agents SDK an MCP server, and the AI SDK a transport. LangChain and Mastra take tools. None of these SDKs is imported:
 * users choose their versions.
 */
import "./requireNode.ts"
import "../requireEffect.ts"
export * from "../../adapters/llm/agentsServer.ts"
export { type AiSdkTransport, makeAiSdkTransport } from "../../adapters/llm/aiSdkTransport.ts"
export { type LangChainBlock, type LangChainTool, listLangChainTools } from "../../adapters/llm/langChainTools.ts"
export { listMastraTools, type MastraModelOutput, type MastraTool } from "../../adapters/llm/mastraTools.ts"
export * from "../../adapters/llm/McpClientLike.ts"
export { McpClientError, McpToolError } from "../../adapters/llm/McpClientError.ts"
export type { McpContent, McpContents, McpResource, McpTool, McpToolResult } from "../../adapters/llm/mcpTypes.ts"
