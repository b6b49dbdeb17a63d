/**
 * A2C-SMCP for programs without Effect: Server, Agent and Computer with promises, async iterables, `AbortSignal` and
 * plain errors. Methods have the names of the services in `a2c-smcp`. For browsers use `a2c-smcp/agent`.
 */
import "./requireNode.ts"
import "../requireEffect.ts"
export type * from "./names/computerTypes.ts"
export type * from "./names/messageTypes.ts"
export { A2cError, type A2cErrorCode } from "../A2cError.ts"
export { connectAgent } from "../promise/connectAgent.ts"
export type {
  ConnectedAgent,
  ConnectionOptions,
  NodeAgentConnectOptions,
  StartedTool,
  AgentToolCall as ToolCall
} from "../promise/ConnectedAgent.ts"
export type { ComputerHooks } from "../promise/computer/computerHooks.ts"
export type { Cancellable, Closeable, Log, LogLine } from "../promise/RunningService.ts"
export type { ComputerJoinOptions, ServerStateView } from "../promise/computer/JoinedComputer.ts"
export {
  type RunComputerOptions as ComputerOptions,
  type ComputerSetup,
  runComputer,
  type RunningComputer
} from "../promise/computer/RunningComputer.ts"
export {
  promiseMemberToken as signMemberToken,
  runServer,
  type RunningServer,
  type ServerOptions,
  type SignTokenOptions as MemberTokenOptions
} from "../promise/RunningServer.ts"
