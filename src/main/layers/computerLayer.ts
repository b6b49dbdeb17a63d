import * as NodeServices from "@effect/platform-node/NodeServices"
import { Effect, Layer } from "effect"
import * as AjvValidator from "../../adapters/ajv/AjvValidator.ts"
import type { AuthorizerOptions } from "../../adapters/mcp/oauth/Authorizer.ts"
import * as McpClient from "../../adapters/mcp/client/McpClient.ts"
import * as FileDocuments from "../../adapters/dpe/FileDocumentReader.ts"
import * as FileCredentialStore from "../../adapters/credentials/FileCredentialStore.ts"
import * as NodeFolders from "../../adapters/packs/discovery/NodePackFolders.ts"
import * as NodeLoader from "../../adapters/packs/loading/NodePackLoader.ts"
import * as NpmInstaller from "../../adapters/packs/install/NpmInstaller.ts"
import * as SocketIoClient from "../../adapters/socketio/client/SocketIoClient.ts"
import * as TcpListener from "../../adapters/tcp/TcpListener.ts"
import * as VerelEngine from "../../adapters/vrl/VerelEngine.ts"
import { Agent, type AgentOptions } from "../../application/agent/Agent.ts"
import { Computer, type ComputerOptions } from "../../application/computer/Computer.ts"
import { ComputerSettings } from "../../application/computer/ComputerSettings.ts"
import * as InProcess from "../../application/computer/servers/InProcessConnector.ts"
import { Inputs, type InputSources } from "../../application/computer/inputs/Inputs.ts"
import { DeviceGateway, type DeviceGatewayOptions } from "../../application/devices/gateway/DeviceGateway.ts"
import type { JoinFailed } from "../../application/member/OfficeMember.ts"
import { PackHost, type PackHostOptions } from "../../application/packs/PackHost.ts"
import type { ListenError } from "../../application/ports/Transport.ts"

/** An Agent in an office of a Server on Socket.IO. */
export const agentLayer = (
  options: AgentOptions &
    SocketIoClient.SocketIoClientOptions & {
      /** Where `fetchDocument` may read files; nowhere unless given, since it is Computers that name them. */
      readonly documentFolders?: ReadonlyArray<string>
    }
): Layer.Layer<Agent, JoinFailed> =>
  Agent.layer(options).pipe(
    Layer.provide(SocketIoClient.layer(options)),
    Layer.provide(FileDocuments.layer(options.documentFolders ?? []))
  )

type ComputerLayerOptions = ComputerOptions &
  SocketIoClient.SocketIoClientOptions &
  AuthorizerOptions & {
    readonly settings?: Partial<ComputerSettings>
    /** Peers of this process, which stand for the servers of these names whether they are configured or not. */
    readonly sessions?: InProcess.InProcessSessions
  }

/** A Computer in an office of a Server on Socket.IO, driving real MCP servers; whoever runs it gives the inputs. */
export const computerLayerRequiringInputs = ({
  sessions = {},
  ...options
}: ComputerLayerOptions): Layer.Layer<Computer, JoinFailed, Inputs> =>
  Computer.layer({ ...options, config: InProcess.addInProcessServers(options.config, sessions) }).pipe(
    Layer.provide(SocketIoClient.layer(options)),
    Layer.provide(InProcess.layer(sessions)),
    Layer.provide(McpClient.layerWithOAuth(options)),
    Layer.provide(FileCredentialStore.layer()),
    Layer.provide(NodeServices.layer),
    Layer.provide(AjvValidator.layer),
    Layer.provide(VerelEngine.layer()),
    Layer.provide(
      Layer.effect(
        ComputerSettings,
        Effect.map(ComputerSettings, (defaults) => ({ ...defaults, ...options.settings }))
      )
    )
  )

/** The same with the values of its inputs: given ones, else from the environment, else as `inputs` says. */
export const computerLayer = ({
  inputs,
  ...options
}: ComputerLayerOptions & { readonly inputs?: InputSources }): Layer.Layer<Computer | Inputs, JoinFailed> =>
  Layer.provideMerge(computerLayerRequiringInputs(options), Inputs.layer(inputs))

/** A gateway on TCP whose devices are MCP peers. */
export const gatewayLayer = (options: DeviceGatewayOptions): Layer.Layer<DeviceGateway, ListenError> =>
  DeviceGateway.layer(options).pipe(Layer.provide(TcpListener.layer), Layer.provide(AjvValidator.layer))

/** How packs are found, installed and run. */
export type PackHostLayerOptions = PackHostOptions &
  NpmInstaller.NpmOptions & {
    /** Install what packs ask for; without it packs that lack something fail. They are unless told otherwise. */
    readonly install?: boolean
  }

/** A host of the packs in some folders of this machine. Nothing is looked for before its `rescan` says so. */
export const packHostLayer = ({ install = true, ...options }: PackHostLayerOptions): Layer.Layer<PackHost> =>
  PackHost.layer(options).pipe(
    Layer.provide(NodeFolders.layer),
    Layer.provide(NodeLoader.layer),
    Layer.provide(install ? NpmInstaller.layer(options) : NpmInstaller.layerWithoutInstall),
    Layer.provide(NodeServices.layer)
  )
