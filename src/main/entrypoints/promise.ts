/**
 * A2C-SMCP for programs that do not use Effect: Server, Agent and Computer with promises, async iterables,
 * `AbortSignal` and plain errors. Methods have the names of the services at `a2c-smcp`. In browsers the Agent alone is
 * at `a2c-smcp/agent`.
 */
import { agentLayer } from "../layers/agentLayer.ts"
import {
  type AgentConnectOptions,
  connectWithLayer,
  type ConnectedAgent,
  toClientOptions
} from "../promise/ConnectedAgent.ts"
import type { Cancellable } from "../promise/RunningService.ts"

/** An Agent's connection, and the folders in which `fetchDocument` may read files. */
export interface NodeAgentConnectOptions extends AgentConnectOptions {
  /** Nowhere unless given, since it is Computers that name the files. */
  readonly documentFolders?: ReadonlyArray<string>
}

/** Joins an office as its Agent; stays, and comes back when the connection is lost, until it is closed. */
export const connectAgent = (
  options: NodeAgentConnectOptions,
  cancellable?: Cancellable
): Promise<ConnectedAgent> => connectWithLayer(agentLayer(toClientOptions(options)), options, cancellable)

export type { Grants, Identity, Right } from "../../domain/model/Identity.ts"
export { A2cError, type A2cErrorCode } from "../promise/A2cError.ts"
export type { ConnectedAgent, ConnectionOptions } from "../promise/ConnectedAgent.ts"
export type { ComputerHooks } from "../promise/computerHooks.ts"
export type { Cancellable, Closeable } from "../promise/RunningService.ts"
export type { Log, LogLine } from "../promise/Log.ts"
export {
  type ComputerOptions,
  type ComputerSetup,
  runComputer,
  type RunningComputer,
  type ServerStateView
} from "../promise/RunningComputer.ts"
export { runServer, type RunningServer, type ServerOptions } from "../promise/RunningServer.ts"
