import { Effect, Layer } from "effect"
import * as JsonSchemaValidator from "../../adapters/jsonSchema/JsonSchemaValidator.ts"
import * as FileCredentialStore from "../../adapters/credentials/FileCredentialStore.ts"
import { type FunctionsOptions, makeFunctionsWith } from "../../adapters/functions/makeFunctions.ts"
import * as McpClient from "../../adapters/mcp/client/McpClient.ts"
import * as NodeSkillFiles from "../../adapters/skills/NodeSkillFiles.ts"
import * as SocketIoClient from "../../adapters/socketio/client/SocketIoClient.ts"
import * as NodeLandingFolder from "../../adapters/uploads/NodeLandingFolder.ts"
import { makeParamsValidator } from "../../adapters/tools/ParamsValidator.ts"
import * as VerelEngine from "../../adapters/vrl/VerelEngine.ts"
import { Computer, type ComputerOptions } from "../../application/computer/Computer.ts"
import { ComputerSettings, type Confirm } from "../../application/computer/ComputerSettings.ts"
import * as FileSkills from "../../application/computer/content/skills/FileSkills.ts"
import { Inputs, type InputSources } from "../../application/computer/inputs/Inputs.ts"
import * as InProcess from "../../application/computer/servers/InProcessConnector.ts"
import type { JoinFailed } from "../../application/member/OfficeMember.ts"
import { ApprovalStore } from "../../application/ports/approvals/ApprovalStore.ts"
import type { Policy } from "../../application/ports/approvals/Policy.ts"
import type { AuditLog } from "../../application/ports/AuditLog.ts"
import type { Endpoints } from "../../application/ports/McpSession.ts"
import type { CatalogueStore } from "../../application/ports/mcp/CatalogueStore.ts"
import { layerOverride } from "./layerOverride.ts"
import { nodeServicesLayer } from "./nodeServicesLayer.ts"

type ComputerLayerOptions = ComputerOptions &
  SocketIoClient.SocketIoClientOptions &
  McpClient.McpClientOptions & {
    /** Decides about calls that nothing else allows; without it and `settings.approvers` such calls fail with 4005. */
    readonly confirm?: Confirm | undefined
    /** Keeps lasting approvals and the approved definitions of tools; without it they end with the Computer. */
    readonly approvals?: Layer.Layer<ApprovalStore> | undefined
    /** Keeps the catalogues of lazy servers; without it each of them starts once with the Computer. */
    readonly catalogues?: Layer.Layer<CatalogueStore> | undefined
    readonly settings?: Partial<Omit<ComputerSettings, "confirm">>
    /** In-process peers that replace the servers of these names, configured or not. */
    readonly sessions?: InProcess.InProcessSessions
  }

/**
 * A Computer in an office of a Server on Socket.IO, with MCP servers; the host provides the inputs. The policy decides calls
 * before `auto_apply`, approved patterns and `confirm`; `Policy.layerNone` and `AuditLog.layerNone` do without.
 */
export const computerLayerRequiringInputs = ({
  approvals,
  catalogues,
  confirm,
  sessions = {},
  settings,
  ...options
}: ComputerLayerOptions): Layer.Layer<Computer, JoinFailed, Endpoints | Policy | AuditLog> =>
  Computer.layer({ ...options, config: InProcess.addInProcessServers(options.config, sessions) }).pipe(
    Layer.provide(SocketIoClient.layer(options)),
    Layer.provide(InProcess.layer(sessions)),
    Layer.provide(McpClient.layerWithOAuth(options)),
    Layer.provide(FileCredentialStore.layer()),
    Layer.provide(NodeLandingFolder.layer),
    Layer.provide(Layer.provide(FileSkills.layer, NodeSkillFiles.layer())),
    Layer.provide(nodeServicesLayer),
    Layer.provide(JsonSchemaValidator.layer),
    Layer.provide(VerelEngine.layer()),
    Layer.provide(approvals ?? ApprovalStore.layerNone),
    Layer.provide(catalogues ?? Layer.empty),
    Layer.provide(layerOverride(ComputerSettings, { ...settings, confirm }))
  )

/**
 * Makes a session of tools, windows and documents that are functions of this program, until the scope closes: for
 * `computerLayer({ sessions })`, `publishHttp` and `publishStdio`.
 */
export const makeFunctions = (functions: FunctionsOptions = {}) =>
  Effect.flatMap(JsonSchemaValidator.loadInterpreter, (compile) =>
    makeFunctionsWith((schema) => makeParamsValidator(schema, compile), functions)
  )

/** A Computer with the values of its inputs: given ones, else from the environment, else from the sources of `inputs`. */
export const computerLayer = ({ inputs, ...options }: ComputerLayerOptions & { readonly inputs?: InputSources }) =>
  Layer.provideMerge(computerLayerRequiringInputs(options), Inputs.layer(inputs))
