/**
 * A2C-SMCP for programs without Effect: Server, Agent and Computer with promises, async iterables, `AbortSignal` and
 * plain errors. Methods have the names of the services in `a2c-smcp`. For browsers use `a2c-smcp/agent`.
 */
import "./requireNode.ts"
export type { RemoteApprover } from "../../application/computer/ComputerSettings.ts"
export type { CallExplanation } from "../../domain/policy/CallExplanation.ts"
export type { ExplainRequest } from "../../application/computer/calls/CallConsent.ts"
export type { RuleStep } from "../../domain/policy/decideByRules.ts"
export type {
  Approval,
  ApprovalAnswer,
  ApprovalDecision,
  Question
} from "../../domain/approvals/Approval.ts"
export type { ApprovalView } from "../../domain/approvals/ApprovalView.ts"
export type { Grant } from "../../domain/approvals/standingApprovals.ts"
export type { PolicyAction, PolicyCall, PolicyDecision } from "../../domain/policy/Rule.ts"
export type { JsonObject } from "../../domain/json.ts"
export type {
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  TextContent,
  UnknownContent
} from "../../domain/model/ToolResult.ts"
export type { Grants, Identity, Right } from "../../domain/model/Identity.ts"
export type { Tool } from "../../domain/model/Tool.ts"
export type { ToolResult } from "../../domain/model/ToolResult.ts"
export type { CallStatus } from "../../domain/model/CallStatus.ts"
export type { InputAnswer, InputRequest } from "../../domain/model/InputRequest.ts"
export { A2cError, type A2cErrorCode } from "../A2cError.ts"
export { connectAgent } from "../promise/connectAgent.ts"
export type { McpServerRequest } from "../../application/agent/mcpChannel.ts"
export type { TaskStatus } from "../../application/agent/tasks/toolTasks.ts"
export type { McpServerInfo } from "../../domain/model/messages/mcp.ts"
export type {
  ConnectedAgent,
  ConnectionOptions,
  NodeAgentConnectOptions,
  StartedTool,
  AgentToolCall as ToolCall
} from "../promise/ConnectedAgent.ts"
export type { ComputerHooks } from "../promise/computerHooks.ts"
export type { Cancellable, Closeable, Log, LogLine } from "../promise/RunningService.ts"
export {
  type ComputerJoinOptions,
  type RunComputerOptions as ComputerOptions,
  type ComputerSetup,
  runComputer,
  type RunningComputer,
  type ServerStateView
} from "../promise/RunningComputer.ts"
export { runServer, type RunningServer, type ServerOptions } from "../promise/RunningServer.ts"
