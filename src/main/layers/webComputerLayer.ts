import { Effect, Layer } from "effect"
import { resolveLocation } from "../../adapters/dpe/resolver.ts"
import * as JsonSchemaValidator from "../../adapters/jsonSchema/JsonSchemaValidator.ts"
import * as SocketIoClient from "../../adapters/socketio/client/SocketIoClient.ts"
import { Computer, type ComputerOptions } from "../../application/computer/Computer.ts"
import { ComputerSettings, type Confirm } from "../../application/computer/ComputerSettings.ts"
import * as InProcess from "../../application/computer/servers/InProcessConnector.ts"
import type { JoinFailed } from "../../application/member/OfficeMember.ts"
import { ApprovalStore } from "../../application/ports/approvals/ApprovalStore.ts"
import type { Policy } from "../../application/ports/approvals/Policy.ts"
import type { AuditLog } from "../../application/ports/AuditLog.ts"
import { Endpoints, McpConnector, sessionError } from "../../application/ports/McpSession.ts"
import { decodeEndpoint } from "../../domain/config/endpointParameters.ts"
import { layerOverride } from "./layerOverride.ts"

type WebComputerLayerOptions = Omit<ComputerOptions, "config" | "skills" | "uploads" | "variables"> &
  SocketIoClient.SocketIoClientOptions & {
    /** The sessions that it offers, by their names in the office; `makeFunctions` makes one. */
    readonly sessions: InProcess.InProcessSessions
    /** Decides about calls that nothing else allows; without it and `settings.approvers` such calls fail with 4005. */
    readonly confirm?: Confirm | undefined
    /** Keeps lasting approvals and the approved definitions of tools; without it they end with the Computer. */
    readonly approvals?: Layer.Layer<ApprovalStore> | undefined
    readonly settings?: Partial<Omit<ComputerSettings, "confirm">>
  }

/** Connects no MCP servers: they need processes. */
const noMcpServers = Layer.succeed(McpConnector, {
  connect: () => Effect.fail(sessionError("unsupported", "this Computer runs no MCP servers"))
})

/** Reads the parameters of servers as they are: sessions of this program need none. */
const plainEndpoints = Layer.succeed(Endpoints, ({ parameters, type }) =>
  Effect.fromResult(decodeEndpoint(type, parameters))
)

/** A Computer without Node in an office of a Server on Socket.IO. It offers sessions of this program, and no MCP servers. */
export const webComputerLayer = ({
  approvals,
  confirm,
  sessions,
  settings,
  ...options
}: WebComputerLayerOptions): Layer.Layer<Computer, JoinFailed, Policy | AuditLog> =>
  Computer.layer({ ...options, config: InProcess.addInProcessServers({ inputs: [], servers: {} }, sessions) }).pipe(
    Layer.provide(SocketIoClient.layer(options)),
    Layer.provide(Layer.provide(InProcess.layer(sessions), noMcpServers)),
    Layer.provide(plainEndpoints),
    Layer.provide(JsonSchemaValidator.layer),
    Layer.provide(approvals ?? ApprovalStore.layerNone),
    Layer.provide(layerOverride(ComputerSettings, { resolveDpe: resolveLocation, ...settings, confirm }))
  )
