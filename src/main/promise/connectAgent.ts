import { agentLayer } from "../layers/agentLayer.ts"
import { type AgentConnectOptions, type ConnectedAgent, connectWithLayer, toClientOptions } from "./ConnectedAgent.ts"
import type { Cancellable } from "./RunningService.ts"

export interface NodeAgentConnectOptions extends AgentConnectOptions {
  /** Folders that `fetchDocument` may read; none by default, since Computers choose the file names. */
  readonly documentFolders?: ReadonlyArray<string>
  /**
   * Hosts from which `fetchDocument` may fetch although their addresses are private, such as `192.168.1.5` or
   * `*.corp.example`. Others must be public or in the network of the Server.
   */
  readonly documentHosts?: ReadonlyArray<string>
}

/** Joins an office as its Agent; reconnects when the connection is lost, until it is closed. */
export const connectAgent = (options: NodeAgentConnectOptions, cancellable?: Cancellable): Promise<ConnectedAgent> =>
  connectWithLayer((checked) => agentLayer(toClientOptions(checked)), options, cancellable)
