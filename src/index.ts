/**
 * A2C-SMCP for host programs: Server, Agent and Computer as Effect layers, the ports they stand on, and the adapters
 * for Socket.IO and MCP. The pure part alone is at `a2c-smcp/domain`, the peers in memory are at `a2c-smcp/testing`.
 */
export * as McpClient from "./adapters/mcp/McpClient.ts"
export * as SocketIoClient from "./adapters/socketio/SocketIoClient.ts"
export * as SocketIoServer from "./adapters/socketio/SocketIoServer.ts"
export { Agent, type AgentEvent, type AgentOptions } from "./application/agent/Agent.ts"
export {
  type AgentError,
  type AgentRequests,
  BadReply,
  Disconnected,
  type ResourcePage,
  type ToolRequest,
  Unanswered
} from "./application/agent/AgentRequests.ts"
export type { ComputerView, OfficeView } from "./application/agent/OfficeView.ts"
export { Computer, type ComputerOptions } from "./application/computer/Computer.ts"
export {
  ComputerSettings,
  type Confirm,
  type ConfirmRequest,
  type DpeRequest,
  type ProgressReport,
  type ResolvedDpe,
  type ResolveDpe
} from "./application/computer/ComputerSettings.ts"
export { InputMissing, Inputs } from "./application/computer/Inputs.ts"
export type { ServerState } from "./application/computer/Offer.ts"
export type { ToolCallRecord } from "./application/computer/ToolCalls.ts"
export {
  type JoinFailed,
  JoinRefused,
  type MemberStatus,
  NotPermitted,
  type OfficeMember
} from "./application/member/OfficeMember.ts"
export { type Body, decodeBody, jsonBody } from "./application/ports/Body.ts"
export {
  type McpChange,
  McpConnector,
  McpFailure,
  type McpInfo,
  type McpPage,
  type McpProgress,
  type McpSession,
  type McpWatch
} from "./application/ports/McpSession.ts"
export {
  AdmissionRefused,
  type Answer,
  type ConnectFailed,
  type Handshake,
  type Link,
  LinkClosed,
  ListenFailed,
  NoAnswer,
  NotSent,
  type Receive,
  TransportClient,
  TransportServer,
  Unreachable,
  VersionRefused
} from "./application/ports/Transport.ts"
export { Server } from "./application/server/Server.ts"
export { ServerSettings } from "./application/server/ServerSettings.ts"
export { readComputerConfig } from "./domain/config/config.ts"
export type { JsonObject } from "./domain/json.ts"
export type { ComputerConfig, ServerConfig } from "./domain/protocol/v0_2/config.ts"
export type { SmcpTool, ToolResult } from "./domain/protocol/v0_2/tools.ts"
export { PROTOCOL_VERSION } from "./domain/protocol/version.ts"
export { codes, Refusal } from "./domain/refusal.ts"
export { agentLayer, computerLayer, serverLayer } from "./main/layers.ts"
