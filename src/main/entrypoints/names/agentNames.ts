/** What `a2c-smcp` and `a2c-smcp/agent` export. */
export type * from "./messageTypes.ts"
export * as SocketIoClient from "../../../adapters/socketio/client/SocketIoClient.ts"
export { Agent, type AgentEvent, type AgentOptions, type ToolCall } from "../../../application/agent/Agent.ts"
export { type AgentError, BadReply, Disconnected, ServerTimeout } from "../../../application/agent/AgentErrors.ts"
export type { AgentRequests, ToolList, ToolRequest } from "../../../application/agent/AgentRequests.ts"
export { TaskLost, type ToolTask } from "../../../application/agent/tasks/toolTasks.ts"
export {
  type BlobOptions,
  BlobUnreadable,
  type FetchedBlob,
  type PutBlobOptions,
  type SkillContent,
  type UploadedFile,
  UploadFailed
} from "../../../application/agent/blobs.ts"
export type { DocumentLocation, ResourcePage, SkillRef } from "../../../domain/model/messages/requests.ts"
export {
  type ComputerView,
  type OfficeView,
  AmbiguousTool,
  UnknownTool
} from "../../../application/agent/OfficeView.ts"
export type { FetchedDocument, FetchOptions } from "../../../application/agent/AgentQueries.ts"
export {
  type JoinFailed,
  JoinRejected,
  MemberReplaced,
  type MemberStatus
} from "../../../application/member/OfficeMember.ts"
export * from "../../../application/ports/files/DocumentReader.ts"
export { McpSessionError } from "../../../application/ports/McpSession.ts"
export { AdmissionRejected, Unreachable, VersionRejected } from "../../../application/ports/Transport.ts"
export { type LineName, PROTOCOL_VERSION } from "../../../domain/wire/lines.ts"
export { errorCodes, ProtocolError } from "../../../domain/model/ProtocolError.ts"
