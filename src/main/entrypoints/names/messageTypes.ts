/** Types that every entry point for programs exports. */
export type { McpServerRequest } from "../../../application/agent/mcpChannel.ts"
export type { TaskStatus } from "../../../application/agent/tasks/toolTasks.ts"
export type { McpServerInfo } from "../../../domain/model/messages/mcp.ts"
export type { CallStatus } from "../../../domain/model/CallStatus.ts"
export type { InputAnswer, InputRequest } from "../../../domain/model/InputRequest.ts"
export type { JsonObject } from "../../../domain/json.ts"
export type { Tool } from "../../../domain/model/Tool.ts"
export type {
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  TextContent,
  ToolResult,
  UnknownContent
} from "../../../domain/model/ToolResult.ts"
