import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import * as McpClient from "../adapters/mcp/McpClient.ts"
import * as SocketIoClient from "../adapters/socketio/SocketIoClient.ts"
import * as SocketIoServer from "../adapters/socketio/SocketIoServer.ts"
import { Agent, type AgentOptions } from "../application/agent/Agent.ts"
import { Computer, type ComputerOptions } from "../application/computer/Computer.ts"
import { ComputerSettings } from "../application/computer/ComputerSettings.ts"
import { Inputs } from "../application/computer/Inputs.ts"
import type { JoinFailed } from "../application/member/OfficeMember.ts"
import type { ListenFailed } from "../application/ports/Transport.ts"
import { Server } from "../application/server/Server.ts"
import { ServerSettings } from "../application/server/ServerSettings.ts"

/** A whole Server on Socket.IO. Loopback and a free port unless told otherwise. */
export const serverLayer = (
  options: SocketIoServer.SocketIoServerOptions & { readonly settings?: Partial<ServerSettings> } = {}
): Layer.Layer<Server, ListenFailed> => {
  const { settings, ...socketIo } = options
  return Server.layer.pipe(
    Layer.provide(SocketIoServer.layer(socketIo)),
    Layer.provide(
      Layer.effect(
        ServerSettings,
        Effect.map(ServerSettings, (usual) => ({ ...usual, ...settings }))
      )
    )
  )
}

/** An Agent in an office of a Server on Socket.IO. */
export const agentLayer = (
  options: AgentOptions & SocketIoClient.SocketIoClientOptions
): Layer.Layer<Agent, JoinFailed> => Agent.layer(options).pipe(Layer.provide(SocketIoClient.layer(options)))

/** A Computer in an office of a Server on Socket.IO, driving real MCP servers. */
export const computerLayer = (
  options: ComputerOptions &
    SocketIoClient.SocketIoClientOptions & { readonly settings?: Partial<ComputerSettings> }
): Layer.Layer<Computer, JoinFailed> =>
  Computer.layer(options).pipe(
    Layer.provide(SocketIoClient.layer(options)),
    Layer.provide(McpClient.layer),
    Layer.provide(NodeServices.layer),
    Layer.provide(Inputs.layerEnvironment),
    Layer.provide(
      Layer.effect(
        ComputerSettings,
        Effect.map(ComputerSettings, (usual) => ({ ...usual, ...options.settings }))
      )
    )
  )
