import type { JsonObject } from "../../../domain/json.ts"
import type { ServerConfig } from "../../../domain/config/computerConfig.ts"
import type { McpSession } from "../../ports/McpSession.ts"

/** A running MCP server with its session and listings. */
export interface RunningMcpServer {
  readonly config: ServerConfig
  readonly session: McpSession
  readonly tools: ReadonlyArray<JsonObject>
  readonly resources: ReadonlyArray<JsonObject>
}

/** The state of an MCP server. */
export type ServerState =
  /** Disabled in the configuration, or stopped by the user. */
  | { readonly _tag: "Stopped"; readonly reason: "disabled" | "stopped_by_user" }
  /** `attempt` counts from 1 and restarts after a stable session. */
  | { readonly _tag: "Starting"; readonly attempt: number }
  | ({ readonly _tag: "Ready" } & RunningMcpServer)
  /** The server is running with reduced function. */
  | ({ readonly _tag: "Degraded"; readonly reason: string } & RunningMcpServer)
  /** The server exited or failed to start; it restarts at `retryAt`, in milliseconds since 1970. */
  | { readonly _tag: "BackingOff"; readonly reason: string; readonly attempt: number; readonly retryAt: number }
  /** The failure is permanent: the server needs another configuration. */
  | { readonly _tag: "Failed"; readonly reason: string }

/** States by server name, in configuration order. */
export type ServerStates = ReadonlyMap<string, ServerState>

export const isRunning = (state: ServerState | undefined): state is Extract<ServerState, RunningMcpServer> =>
  state?._tag === "Ready" || state?._tag === "Degraded"
