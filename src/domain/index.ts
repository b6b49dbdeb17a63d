/**
 * The pure part of A2C-SMCP: parsers, rules and message schemas. No I/O, no clock, no Node: it runs in a browser, a
 * worker or any other runtime.
 */
export {
  type Clash,
  type ConfigPart,
  type ConfigReading,
  mergeConfigs,
  readComputerConfig,
  readConfig
} from "./config/config.ts"
export type { Dialect } from "./config/dialects.ts"
export { acceptInput, defaultOf, environmentNames, type InputValue } from "./config/inputs.ts"
export {
  parseReference,
  placeholders,
  type Reference,
  render,
  type Rendering
} from "./config/placeholders.ts"
export { compareSetups, type Setup, type SetupDifference, type Variables } from "./config/setup.ts"
export {
  type Desktop,
  type DesktopWarning,
  organizeDesktop,
  type WindowResource
} from "./desktop/organize.ts"
export { buildWindowUri, InvalidWindowUri, parseWindowUri, type WindowUri } from "./desktop/window.ts"
export {
  type BadFrameReason,
  type DecoderEvent,
  type DecoderOptions,
  type DecoderState,
  initialDecoder,
  isIncomplete,
  stalled,
  step
} from "./devices/decoder.ts"
export { encodeFrame, encodeJson, FrameUnsendable } from "./devices/encode.ts"
export { type Frame, type FrameType, frameTypes } from "./devices/frame.ts"
export { defaultLimits as defaultFrameLimits, type FrameLimits } from "./devices/limits.ts"
export { type DeviceMessage, messageOf, type Outcome, readMessage } from "./devices/messages.ts"
export type { Service } from "./devices/services.ts"
export {
  type Credentials,
  readCredentials,
  readStatus,
  type Status,
  tasks,
  writeCredentials,
  writeStatus
} from "./devices/session.ts"
export { buildDpeUri, checkDpeUri, type DpeUri, InvalidDpeUri, parseDpeUri } from "./documents/dpe.ts"
export { type FinderPage, type FinderQuery, findDocuments, summarize } from "./documents/finder.ts"
export type { JsonObject } from "./json.ts"
export { covers, mayConnect, mayJoin } from "./office/grants.ts"
export { everything, type Grants, type Identity, type Right } from "./office/identity.ts"
export {
  type Capacity,
  type Command,
  computerIn,
  decide,
  type Event,
  evolve,
  type Member,
  membersOf,
  noOffices,
  type Office,
  OfficeRefusal,
  type Offices,
  type Seat,
  type Session
} from "./office/membership.ts"
export type { Notice, Part } from "./office/notice.ts"
export { type PackConfig, readPackConfig } from "./packs/config.ts"
export { type Candidate, type PackFiles, type PackName, readCandidate, readPackName } from "./packs/naming.ts"
export type { PackOffer, PackRoute, ParamsProblem } from "./packs/offer.ts"
export { type DescribedHost, type DescribedPack, openApi } from "./packs/openapi.ts"
export { readPackage, readPackages } from "./packs/packages.ts"
export { type Line, lineOf } from "./protocol/lines.ts"
export type { DocumentSummary, ToolCallReq } from "./protocol/v0_2/calls.ts"
export { ComputerConfig, Input, ServerConfig } from "./protocol/v0_2/config.ts"
export type { Role, SessionInfo } from "./protocol/v0_2/office.ts"
export type {
  Endpoint,
  SseParameters,
  StdioParameters,
  StreamableParameters
} from "./protocol/v0_2/parameters.ts"
export { SmcpTool, ToolMeta, ToolResult } from "./protocol/v0_2/tools.ts"
export {
  compatible,
  formatVersion,
  gate,
  type GateRefusal,
  parseVersion,
  PROTOCOL_VERSION,
  type Version,
  type VersionMismatch
} from "./protocol/version.ts"
export { codes, Refusal } from "./refusal.ts"
export { buildCatalogue, type Catalogue, type CatalogueEntry, type HiddenTool } from "./tools/catalogue.ts"
export { mergeToolMeta, readAnnotations, readToolMeta, serializeToolMeta } from "./tools/meta.ts"
export { errorCodeOf } from "./tools/result.ts"
