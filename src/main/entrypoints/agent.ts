/**
 * The Agent for browsers and other runtimes without Node: as an Effect layer on Socket.IO, and with promises. A Server
 * accepts pages of other origins only when it lists their origins.
 */
import "./requireNode.ts"
export * as SocketIoClient from "../../adapters/socketio/client/SocketIoClient.ts"
export { Agent, type AgentEvent, type AgentOptions, type ToolCall } from "../../application/agent/Agent.ts"
export { type AgentError, BadReply, Disconnected, ServerTimeout } from "../../application/agent/AgentErrors.ts"
export type { AgentRequests, ToolList, ToolRequest } from "../../application/agent/AgentRequests.ts"
export type { McpServerRequest } from "../../application/agent/mcpChannel.ts"
export { TaskLost, type TaskStatus, type ToolTask } from "../../application/agent/tasks/toolTasks.ts"
export type { McpServerInfo } from "../../domain/model/messages/mcp.ts"
export { McpSessionError } from "../../application/ports/McpSession.ts"
export { type BlobOptions, BlobUnreadable, type FetchedBlob, type SkillContent } from "../../application/agent/blobs.ts"
export { type PutBlobOptions, type UploadedFile, UploadFailed } from "../../application/agent/uploads.ts"
export type { SkillRef } from "../../domain/model/messages/requests.ts"
export type { DocumentLocation, ResourcePage } from "../../domain/model/messages/requests.ts"
export type { ComputerView, OfficeView } from "../../application/agent/OfficeView.ts"
export type { FetchedDocument, FetchOptions } from "../../application/agent/AgentQueries.ts"
export type { CallStatus } from "../../domain/model/CallStatus.ts"
export type { InputAnswer, InputRequest } from "../../domain/model/InputRequest.ts"
export { AmbiguousTool } from "../../application/agent/OfficeView.ts"
export {
  type JoinFailed,
  JoinRejected,
  MemberReplaced,
  type MemberStatus
} from "../../application/member/OfficeMember.ts"
export {
  type DocumentContent,
  DocumentReader,
  DocumentUnreadable
} from "../../application/ports/files/DocumentReader.ts"
export { AdmissionRejected, Unreachable, VersionRejected } from "../../application/ports/Transport.ts"
export type { JsonObject } from "../../domain/json.ts"
export type { Tool } from "../../domain/model/Tool.ts"
export type {
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  TextContent,
  UnknownContent
} from "../../domain/model/ToolResult.ts"
export type { ToolResult } from "../../domain/model/ToolResult.ts"
export { type LineName, PROTOCOL_VERSION } from "../../domain/wire/lines.ts"
export { errorCodes, ProtocolError } from "../../domain/model/ProtocolError.ts"
export { webAgentLayer as agentLayer } from "../layers/webAgentLayer.ts"
export { A2cError, type A2cErrorCode } from "../A2cError.ts"
export { connectWebAgent as connectAgent } from "../promise/connectWebAgent.ts"
export type { AgentConnectOptions, ConnectedAgent, ConnectionOptions } from "../promise/ConnectedAgent.ts"
export type { Cancellable, Closeable, Log, LogLine } from "../promise/RunningService.ts"
