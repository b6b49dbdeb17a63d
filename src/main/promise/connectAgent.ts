import { agentLayer } from "../layers/agentLayer.ts"
import { type ConnectedAgent, type NodeAgentConnectOptions, toClientOptions } from "./ConnectedAgent.ts"
import { connectWithLayer } from "./connectWithLayer.ts"
import type { Cancellable } from "./RunningService.ts"

/** Joins an office as its Agent; reconnects when the connection is lost, until it is closed. */
export const connectAgent = (options: NodeAgentConnectOptions, cancellable?: Cancellable): Promise<ConnectedAgent> =>
  connectWithLayer((checked) => agentLayer(toClientOptions(checked)), options, cancellable)
