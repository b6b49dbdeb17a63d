/**
 * The Agent for browsers and other runtimes without Node: as an Effect layer on Socket.IO, and with promises. A Server
 * accepts pages of other origins only when it lists their origins.
 */
import "./requireNode.ts"
import "../requireEffect.ts"
export * from "./names/agentNames.ts"
export { webAgentLayer as agentLayer } from "../layers/webAgentLayer.ts"
export { A2cError, type A2cErrorCode } from "../A2cError.ts"
export { connectWebAgent as connectAgent } from "../promise/connectWebAgent.ts"
export type { AgentConnectOptions, ConnectedAgent, ConnectionOptions } from "../promise/ConnectedAgent.ts"
export type { Cancellable, Closeable, Log, LogLine } from "../promise/RunningService.ts"
