import { Effect, Layer } from "effect"
import type { ComputerConfig, ServerConfig } from "../../../domain/config/computerConfig.ts"
import { withParameterDefaults } from "../../../domain/config/endpointParameters.ts"
import { McpConnector, type McpSession } from "../../ports/McpSession.ts"

/** MCP peers of this process by the names of the servers they stand for: devices, packs of tools, an office. */
export type InProcessSessions = { readonly [server: string]: McpSession }

/** What stands in a configuration for a peer of this process: an office sees no more of it than the name. */
const inProcessConfig = (name: string): ServerConfig => ({
  name,
  type: "stdio",
  disabled: false,
  forbiddenTools: [],
  toolMeta: {},
  defaultToolMeta: null,
  vrl: null,
  parameters: withParameterDefaults("stdio", { command: "(in process)" })
})

/** The configuration with a server for each of these sessions that it does not know yet. */
export const addInProcessServers = (config: ComputerConfig, sessions: InProcessSessions): ComputerConfig => ({
  ...config,
  servers: {
    ...Object.fromEntries(Object.keys(sessions).map((name) => [name, inProcessConfig(name)])),
    ...config.servers
  }
})

/** Connects servers of these names with the sessions of this process, whatever is configured of how to reach them. */
export const layer = (sessions: InProcessSessions): Layer.Layer<McpConnector, never, McpConnector> =>
  Layer.effect(
    McpConnector,
    Effect.map(McpConnector, ({ connect }) => ({
      connect: (server, endpoint) => {
        const session = Object.hasOwn(sessions, server) ? sessions[server] : undefined
        return session === undefined ? connect(server, endpoint) : Effect.succeed(session)
      }
    }))
  )
