import { Effect, Layer, Schema } from "effect"
import { type ComputerConfig, ServerConfig } from "../../../domain/config/computerConfig.ts"
import { McpConnector, type McpSession } from "../../ports/McpSession.ts"

/** MCP sessions in this process by server name: devices, packs, an office. */
export type InProcessSessions = { readonly [server: string]: McpSession }

const decodeServer = Schema.decodeSync(ServerConfig)

/** A placeholder configuration, visible to Agents through `client:get_config`; the session ignores it. */
const inProcessConfig = (name: string): ServerConfig =>
  decodeServer({ name, type: "stdio", server_parameters: { command: "(in process)" } })

/** Adds a server for every session that the configuration does not name. */
export const addInProcessServers = (config: ComputerConfig, sessions: InProcessSessions): ComputerConfig => {
  const added = Object.fromEntries(Object.keys(sessions).map((name) => [name, inProcessConfig(name)]))
  return { ...config, servers: { ...added, ...config.servers } }
}

/** Connects servers of these names to the sessions of this process, regardless of their configured endpoints. */
export const layer = (sessions: InProcessSessions): Layer.Layer<McpConnector, never, McpConnector> =>
  Layer.effect(
    McpConnector,
    Effect.map(McpConnector, ({ connect }) => ({
      connect: (server, endpoint) => {
        const session = Object.hasOwn(sessions, server) ? sessions[server] : undefined
        return session === undefined ? connect(server, endpoint) : Effect.succeed(session)
      },
      isInProcess: (server) => Object.hasOwn(sessions, server)
    }))
  )
