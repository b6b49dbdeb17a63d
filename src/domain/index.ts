/**
 * The pure part of A2C-SMCP: parsers, rules and message schemas. No I/O, no clock, no Node: it runs in a browser, a
 * worker or any other runtime.
 */
export {
  type ConfigConflict,
  type ConfigSource,
  type ParsedConfig,
  mergeConfigs,
  parseComputerConfig,
  parseConfig
} from "./config/config.ts"
export type { Dialect } from "./config/dialects.ts"
export {
  validateInputValue,
  defaultInputValue,
  inputEnvironmentNames,
  type InputValue
} from "./config/inputs.ts"
export {
  parsePlaceholder,
  findPlaceholders,
  type PlaceholderReference,
  renderPlaceholders,
  type RenderedValue
} from "./config/placeholders.ts"
export { diffSetups, type Setup, type SetupDiff, type Variables } from "./config/setup.ts"
export {
  type Desktop,
  type DesktopWarning,
  organizeDesktop,
  type WindowResource
} from "./desktop/organize.ts"
export { buildWindowUri, InvalidWindowUri, parseWindowUri, type WindowUri } from "./desktop/window.ts"
export {
  type InvalidFrameReason,
  type DecoderEvent,
  type DecoderOptions,
  type DecoderState,
  initialDecoderState,
  hasPartialFrame,
  dropPartialFrame,
  decodeChunk
} from "./devices/decoder.ts"
export { encodeFrame, encodeJson, FrameEncodeError } from "./devices/encode.ts"
export { type Frame, type FrameType, frameTypes } from "./devices/frame.ts"
export { defaultFrameLimits, type FrameLimits } from "./devices/limits.ts"
export {
  type DeviceMessage,
  makeDeviceMessage,
  type ServiceOutcome,
  decodeDeviceMessage
} from "./devices/messages.ts"
export type { DeviceService } from "./devices/services.ts"
export {
  type DeviceCredentials,
  parseCredentials,
  parseStatus,
  type StatusMessage,
  tasks,
  formatCredentials,
  formatStatus
} from "./devices/session.ts"
export { buildDpeUri, parseStrictDpeUri, type DpeUri, InvalidDpeUri, parseDpeUri } from "./documents/dpe.ts"
export { type FinderPage, type FinderQuery, findDocuments, summarizeDocument } from "./documents/finder.ts"
export type { JsonObject } from "./json.ts"
export { matchesPattern, checkConnectRights, checkJoinRights } from "./office/grants.ts"
export { allGrants, type Grants, type Identity, type Right } from "./office/identity.ts"
export {
  type Capacity,
  type MembershipCommand,
  findComputer,
  decide,
  type MembershipEvent,
  evolve,
  type Member,
  membersOf,
  emptyMembershipState,
  type Office,
  MembershipError,
  type MembershipState,
  type Membership,
  type Session
} from "./office/membership.ts"
export type { Notification, ComputerPart } from "./office/notice.ts"
export { type PackConfig, decodePackConfig } from "./packs/config.ts"
export {
  type PackCandidate,
  type PackFiles,
  type PackName,
  detectPack,
  parsePackName
} from "./packs/naming.ts"
export type { PackManifest, PackRoute, ParamsProblem } from "./packs/offer.ts"
export { type OpenApiHost, type OpenApiPack, makeOpenApiDocument } from "./packs/openapi.ts"
export { parsePackage, parsePackages } from "./packs/packages.ts"
export { type ProtocolLine, lineForVersion } from "./protocol/lines.ts"
export type { DocumentSummary, ToolCallReq } from "./protocol/v0_2/calls.ts"
export { ComputerConfig, Input, ServerConfig } from "./protocol/v0_2/config.ts"
export type { Role, SessionInfo } from "./protocol/v0_2/office.ts"
export type {
  Endpoint,
  SseParameters,
  StdioParameters,
  StreamableParameters
} from "./protocol/v0_2/parameters.ts"
export { Tool, ToolMeta, ToolResult } from "./protocol/v0_2/tools.ts"
export {
  isCompatible,
  formatVersion,
  versionGate,
  type VersionRejection,
  parseVersion,
  PROTOCOL_VERSION,
  type Version,
  type VersionMismatch
} from "./protocol/version.ts"
export { errorCodes, ProtocolError } from "./refusal.ts"
export { buildCatalogue, type Catalogue, type CatalogueEntry, type HiddenTool } from "./tools/catalogue.ts"
export { mergeToolMeta, parseAnnotations, parseToolMeta, formatToolMeta } from "./tools/meta.ts"
export { errorCodeOf } from "./tools/result.ts"
