import { agentLayer } from "../layers/agentLayer.ts"
import {
  type ConnectedAgent,
  connectWithLayer,
  type NodeAgentConnectOptions,
  toClientOptions
} from "./ConnectedAgent.ts"
import type { Cancellable } from "./RunningService.ts"

/** Joins an office as its Agent; reconnects when the connection is lost, until it is closed. */
export const connectAgent = (options: NodeAgentConnectOptions, cancellable?: Cancellable): Promise<ConnectedAgent> =>
  connectWithLayer((checked) => agentLayer(toClientOptions(checked)), options, cancellable)
