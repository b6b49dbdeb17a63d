/**
 * A2C-SMCP for host programs: Server, Agent, Computer and device gateway as Effect layers, with their ports and the
 * adapters for Socket.IO, MCP and TCP. The pure part is at `a2c-smcp/domain`, in-memory peers are at `a2c-smcp/testing`.
 */
import "./requireNode.ts"
import "../requireEffect.ts"
export * from "./names/agentNames.ts"
export * from "./names/computerNames.ts"
export * as JsonSchemaValidator from "../../adapters/jsonSchema/JsonSchemaValidator.ts"
export * as ApiKeys from "../../adapters/auth/ApiKeys.ts"
export * as Jwt from "../../adapters/auth/Jwt.ts"
export { type JwtKeySource, InvalidJwtKey } from "../../adapters/auth/jwtKeys.ts"
export {
  type ApiKeyEntry,
  generateApiKey,
  decodeApiKeyEntries,
  parseSimpleKeys
} from "../../adapters/auth/apiKeyEntries.ts"
export { makeSchemeAuthenticator, type CredentialScheme } from "../../adapters/auth/CredentialScheme.ts"
export { type FileCacheOptions, makeFileCache } from "../../adapters/dpe/FileCache.ts"
export {
  type DocumentServer,
  type DocumentServerOptions,
  makeDocumentServer
} from "../../adapters/dpe/DocumentServer.ts"
export {
  type AuthorizationRequest,
  type AuthorizerOptions,
  logAuthorizationRequest
} from "../../adapters/mcp/oauth/Authorizer.ts"
export * as McpClient from "../../adapters/mcp/client/McpClient.ts"
export { publishHttp, type PublishHttpOptions, PublishError } from "../../adapters/mcp/publish/http/publishHttp.ts"
export { publishStdio, type PublishStdioOptions } from "../../adapters/mcp/publish/publishStdio.ts"
export { authenticateByToken, authenticateByTokens } from "../../adapters/auth/deviceTokens.ts"
export * as AuditFile from "../../adapters/audit/AuditFile.ts"
export * as FileCatalogueStore from "../../adapters/catalogues/FileCatalogueStore.ts"
export * as FileApprovalStore from "../../adapters/approvals/FileApprovalStore.ts"
export * as FileCredentialStore from "../../adapters/credentials/FileCredentialStore.ts"
export { tuneGcForRelay } from "../../adapters/process/gcTuning.ts"
export { readTokenFile, TokenUnreadable } from "../../adapters/credentials/readTokenFile.ts"
export { serveTools, type ServeToolsOptions } from "../../adapters/packs/http/ToolServer.ts"
export * as NodeSkillFiles from "../../adapters/skills/NodeSkillFiles.ts"
export * as NodeLandingFolder from "../../adapters/uploads/NodeLandingFolder.ts"
export * as RelayServer from "../../adapters/socketio/RelayServer.ts"
export * as SocketIoServer from "../../adapters/socketio/SocketIoServer.ts"
export * as TcpConnector from "../../adapters/tcp/TcpConnector.ts"
export * as TcpListener from "../../adapters/tcp/TcpListener.ts"
export * as VerelEngine from "../../adapters/vrl/VerelEngine.ts"
export { makeOfficeMcpSession } from "../../application/bridge/OfficeMcpSession.ts"
export type { OfficeMcpSessionOptions } from "../../application/bridge/officeModelSession.ts"
export * as FileSkills from "../../application/computer/content/skills/FileSkills.ts"
export type { UploadOptions } from "../../application/computer/content/Uploads.ts"
export { makeComputerMcpSession } from "../../application/computer/ComputerMcpSession.ts"
export {
  ComputerSettings,
  type Confirm,
  type OnInput,
  type DpeRequest,
  type ProgressReport,
  type ResolvedDpe,
  type ResolveDpe
} from "../../application/computer/ComputerSettings.ts"
export { InputMissing, Inputs, type InputSources } from "../../application/computer/inputs/Inputs.ts"
export type { ServerState, ServerStates } from "../../application/computer/servers/ServersSnapshot.ts"
export {
  AlreadyJoined,
  type JoinOptions,
  type OfficeStatus
} from "../../application/computer/office/OfficeConnection.ts"
export { UnknownServer } from "../../application/computer/servers/ServerSupervisor.ts"
export type { LocalCall, ToolCallRecord } from "../../application/computer/calls/ToolCalls.ts"
export * from "../../application/devices/DeviceGatewayOptions.ts"
export * from "../../application/devices/client/DeviceClient.ts"
export { DeviceGateway } from "../../application/devices/gateway/DeviceGateway.ts"
export type { DeviceLimits, GatewayLimits } from "../../application/devices/DeviceLimits.ts"
export type { Device } from "../../application/devices/gateway/DeviceRegistry.ts"
export { NotPermitted, type OfficeMember } from "../../application/member/OfficeMember.ts"
export { PackHost, type PackHostOptions } from "../../application/packs/PackHost.ts"
export type { HostedRoute, PackStatus, PackView } from "../../application/packs/PackTable.ts"
export { allowAll, Authenticator, admissionRejected } from "../../application/ports/Authenticator.ts"
export { type Body, decodeBody, jsonBody } from "../../application/ports/Body.ts"
export { CatalogueStore, CatalogueUnavailable } from "../../application/ports/mcp/CatalogueStore.ts"
export type { StoredApprovals } from "../../domain/approvals/standingApprovals.ts"
export type { CatalogueKey } from "../../domain/tools/ServerCatalogue.ts"
export * from "../../application/ports/ByteLink.ts"
export { CredentialStore } from "../../application/ports/CredentialStore.ts"
export { LandingFailed, LandingFolder, type LandingPart } from "../../application/ports/files/LandingFolder.ts"
export {
  Endpoints,
  type McpChange,
  McpConnector,
  type McpInfo,
  type McpPage,
  type McpProgress,
  type McpSession,
  type McpWatchOptions
} from "../../application/ports/McpSession.ts"
export { InvalidSchema, SchemaValidator } from "../../application/ports/SchemaValidator.ts"
export {
  type AdmissionReason,
  type Reply,
  type ConnectError,
  type Handshake,
  type Link,
  LinkClosed,
  ListenError,
  RequestTimeout,
  SendFailed,
  type MessageHandler,
  TransportClient,
  TransportServer
} from "../../application/ports/Transport.ts"
export { VrlEngine, VrlError } from "../../application/ports/VrlEngine.ts"
export {
  CallObservers,
  type CompletedCall,
  type ObservedEvent as MembershipEvent,
  MembershipObservers
} from "../../application/server/observability/observers.ts"
export { Observability } from "../../application/server/observability/Observability.ts"
export { Limits, ServerSettings } from "../../application/server/Limits.ts"
export { Server } from "../../application/server/lifecycle/Server.ts"
export { parseComputerConfig } from "../../domain/config/parseConfig.ts"
export type { Setup, SetupDiff, Variables } from "../../domain/config/Setup.ts"
export type { RuleExplanation } from "../../domain/policy/decideByRules.ts"
export type { TestedAnnotation } from "../../domain/policy/Rule.ts"
export { allGrants } from "../../domain/model/Identity.ts"
export type { ComputerConfig, ServerConfig } from "../../domain/config/computerConfig.ts"
export { agentLayer } from "../layers/agentLayer.ts"
export { computerLayer, makeFunctions } from "../layers/computerLayer.ts"
export { gatewayLayer } from "../layers/gatewayLayer.ts"
export { packHostLayer, type PackHostLayerOptions } from "../layers/packHostLayer.ts"
export { type ServerStartFailed, serverLayer, type ServerLayerOptions } from "../layers/serverLayer.ts"
