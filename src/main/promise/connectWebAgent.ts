import { webAgentLayer } from "../layers/webAgentLayer.ts"
import { type AgentConnectOptions, type ConnectedAgent, toClientOptions } from "./ConnectedAgent.ts"
import { connectWithLayer } from "./connectWithLayer.ts"
import type { Cancellable } from "./RunningService.ts"

/** Joins an office as its Agent; reconnects when the connection is lost, until it is closed. Needs no Node. */
export const connectWebAgent = (options: AgentConnectOptions, cancellable?: Cancellable): Promise<ConnectedAgent> =>
  connectWithLayer((checked) => webAgentLayer(toClientOptions(checked)), options, cancellable)
