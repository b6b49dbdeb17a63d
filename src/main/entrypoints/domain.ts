/**
 * The pure part of A2C-SMCP: parsers, rules and message schemas. No I/O, no clock, no Node: it runs in a browser, a
 * worker or any other runtime.
 */
import "../requireEffect.ts"
export {
  type ConfigConflict,
  type ConfigSource,
  type Dialect,
  type ParsedConfig,
  mergeConfigs,
  parseComputerConfig,
  parseConfig
} from "../../domain/config/parseConfig.ts"
export {
  validateInputValue,
  defaultInputValue,
  inputEnvironmentNames,
  type InputValue
} from "../../domain/config/inputValues.ts"
export {
  parsePlaceholder,
  findPlaceholders,
  type PlaceholderReference,
  renderPlaceholders,
  type RenderedValue
} from "../../domain/config/placeholders.ts"
export { diffSetups, type Setup, type SetupDiff, type Variables } from "../../domain/config/Setup.ts"
export {
  type Desktop,
  type DesktopWarning,
  organizeDesktop,
  type WindowResource
} from "../../domain/desktop/organizeDesktop.ts"
export { buildWindowUri, InvalidWindowUri, parseWindowUri, type WindowUri } from "../../domain/desktop/WindowUri.ts"
export {
  type InvalidFrameReason,
  type DecoderEvent,
  type DecoderOptions,
  type DecoderState,
  initialDecoderState,
  hasPartialFrame,
  dropPartialFrame,
  decodeChunk
} from "../../domain/devices/framing/decoder.ts"
export { encodeFrame, encodeJson, FrameEncodeError } from "../../domain/devices/framing/encoder.ts"
export {
  defaultFrameLimits,
  type Frame,
  type FrameLimits,
  type FrameType,
  frameTypes
} from "../../domain/devices/framing/frame.ts"
export * from "../../domain/devices/deviceMessages.ts"
export type { DeviceService } from "../../domain/devices/serviceDefinitions.ts"
export {
  type DeviceCredentials,
  parseCredentials,
  parseStatus,
  type StatusMessage,
  tasks,
  formatCredentials,
  formatStatus
} from "../../domain/devices/handshake.ts"
export {
  buildDpeUri,
  parseStrictDpeUri,
  type DpeUri,
  InvalidDpeUri,
  parseDpeUri
} from "../../domain/documents/DpeUri.ts"
export {
  type FinderPage,
  type FinderQuery,
  findDocuments,
  summarizeDocument
} from "../../domain/documents/findDocuments.ts"
export type { JsonObject } from "../../domain/json.ts"
export { checkConnectRights, checkJoinRights } from "../../domain/office/grants.ts"
export { matchesPattern } from "../../domain/wildcard.ts"
export { allGrants, type Grants, type Identity, type Right } from "../../domain/model/Identity.ts"
export {
  type Capacity,
  decide,
  evolve,
  findComputer,
  type MembershipCommand,
  type MembershipEvent,
  membersOf,
  emptyMembershipState,
  type Office,
  type MembershipState
} from "../../domain/office/decideMembership.ts"
export {
  type Member,
  type Membership,
  MembershipError,
  type Role,
  type Session,
  type SessionInfo
} from "../../domain/model/Membership.ts"
export type { Notification, ComputerPart } from "../../domain/model/Notification.ts"
export { type PackConfig, decodePackConfig } from "../../domain/packs/packConfig.ts"
export {
  type PackCandidate,
  type PackFiles,
  type PackName,
  detectPack,
  parsePackName
} from "../../domain/packs/packNames.ts"
export type { PackManifest, PackRoute, ParamsProblem } from "../../domain/packs/PackManifest.ts"
export { type OpenApiHost, type OpenApiPack, makeOpenApiDocument } from "../../domain/packs/openapi/openApiDocument.ts"
export { parsePackage, parsePackages } from "../../domain/packs/npmPackages.ts"
export { type LineName, lineForVersion, lineNamed, lineNames, PROTOCOL_VERSION } from "../../domain/wire/lines.ts"
export type { ProtocolLine } from "../../domain/wire/ProtocolLine.ts"
export type { DocumentSummary } from "../../domain/model/messages/requests.ts"
export type { ToolCallRequest } from "../../domain/wire/calls.ts"
export { ComputerConfig, Input, ServerConfig } from "../../domain/config/computerConfig.ts"
export type {
  Endpoint,
  SseParameters,
  StdioParameters,
  StreamableParameters
} from "../../domain/config/endpointParameters.ts"
export { Tool } from "../../domain/model/Tool.ts"
export type {
  AudioContent,
  ContentBlock,
  EmbeddedResource,
  ImageContent,
  ResourceLink,
  TextContent,
  UnknownContent
} from "../../domain/model/ToolResult.ts"
export { ToolResult } from "../../domain/model/ToolResult.ts"
export { parseAnnotations } from "../../domain/tools/toolAnnotations.ts"
export { mergeToolMeta, ToolMeta } from "../../domain/config/toolMeta.ts"
export { formatToolMeta, parseToolMeta } from "../../domain/tools/toolMeta.ts"
export {
  isCompatible,
  formatVersion,
  versionGate,
  type VersionRejection,
  parseVersion,
  type Version,
  type VersionMismatch
} from "../../domain/wire/version.ts"
export { errorCodes, ProtocolError } from "../../domain/model/ProtocolError.ts"
export { buildCatalogue, type Catalogue, type CatalogueEntry, type HiddenTool } from "../../domain/tools/catalogue.ts"
export { errorCodeOf } from "../../domain/tools/errorResults.ts"
export {
  decideByRules,
  explainByRules,
  type RuleExplanation,
  type RuleStep
} from "../../domain/policy/decideByRules.ts"
export { type ArgumentTest, type Literal, parseRules, type Rule } from "../../domain/policy/parseRules.ts"
export type { PolicyAction, PolicyCall, PolicyDecision, TestedAnnotation } from "../../domain/policy/Rule.ts"
