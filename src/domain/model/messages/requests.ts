import { Schema } from "effect"
import { AnswerFields } from "../../approvals/ApprovalView.ts"
import { JsonObject } from "../../json.ts"
import { BoundedText, fieldWithDefault, Identifier, optionalField, TimeoutSeconds } from "../fields.ts"

/** Fields of every request to a Computer (seed 000, `AgentCallData` plus the target). */
export const targetFields = { agent: Identifier, reqId: Identifier, computer: Identifier }

/** A request that states only its target. */
export const TargetRequest = Schema.Struct(targetFields)
export type TargetRequest = typeof TargetRequest.Type

/** A request for the tools. `features` are what the Agent knows beyond the protocol. */
export const ToolsRequest = Schema.Struct({ ...targetFields, features: optionalField(Schema.Array(Schema.String)) })
export type ToolsRequest = typeof ToolsRequest.Type

/** A request for the desktop: at most `desktopSize` windows, or the window with exactly this URI. */
export const DesktopRequest = Schema.Struct({
  ...targetFields,
  desktopSize: optionalField(Schema.Int),
  window: optionalField(BoundedText)
})
export type DesktopRequest = typeof DesktopRequest.Type

/** Modes of questions in a request, more than there are: a newer Agent may know others. */
const maxInputModes = 8

export const InputModes = Schema.Array(Identifier).check(Schema.isMaxLength(maxInputModes))

/** A tool call; `timeout` in whole seconds. `inputModes` are the kinds of questions that the Agent answers. */
export const ToolCallRequest = Schema.Struct({
  ...targetFields,
  toolName: Identifier,
  params: JsonObject,
  timeout: TimeoutSeconds,
  inputModes: optionalField(InputModes)
})
export type ToolCallRequest = typeof ToolCallRequest.Type

/** A request for the open approvals of the Agent's calls, or for all of one. */
export const ApprovalsRequest = Schema.Struct({ ...targetFields, approvalId: optionalField(Identifier) })
export type ApprovalsRequest = typeof ApprovalsRequest.Type

/** An answer to an approval that a call of this Agent waits for. */
export const DecideApprovalRequest = Schema.Struct({ ...targetFields, approvalId: Identifier, ...AnswerFields })
export type DecideApprovalRequest = typeof DecideApprovalRequest.Type

/** A request for the location of a document; `timeout` in whole seconds. The Computer checks the URI and answers 4012. */
export const GetDpeRequest = Schema.Struct({
  ...targetFields,
  uri: BoundedText,
  timeout: optionalField(TimeoutSeconds)
})
export type GetDpeRequest = typeof GetDpeRequest.Type

/** The URI at which the Agent fetches a document, and what is known of the document; `size` in bytes. */
export const DocumentLocation = Schema.Struct({
  uri: Schema.String,
  mimeType: optionalField(Schema.String),
  size: optionalField(Schema.Finite),
  name: optionalField(Schema.String),
  description: optionalField(Schema.String),
  annotations: optionalField(JsonObject),
  metadata: optionalField(JsonObject)
})
export type DocumentLocation = typeof DocumentLocation.Type

/** A request for one page of an MCP server's resources; `cursor` is `nextCursor` of the previous page. */
export const ResourcesRequest = Schema.Struct({
  ...targetFields,
  mcpServer: Identifier,
  cursor: optionalField(BoundedText)
})
export type ResourcesRequest = typeof ResourcesRequest.Type

/** One page of an MCP server's resources, as the server listed them. */
export const ResourcePage = Schema.Struct({
  resources: Schema.Array(JsonObject),
  nextCursor: optionalField(Schema.String)
})
export type ResourcePage = typeof ResourcePage.Type

/** The default and maximum number of documents on a page (spec §11.4). */
export const finderPageSizes = { default: 20, max: 100 }

/** `DPEDocumentSummary`: one document of the catalogue. */
export const DocumentSummary = Schema.Struct({
  docRef: Schema.String,
  uri: Schema.String,
  fileUri: Schema.String,
  fileType: Schema.String,
  title: Schema.String,
  pageCount: Schema.Int,
  keywords: optionalField(Schema.Array(Schema.String)),
  summary: optionalField(Schema.String),
  server: Schema.String,
  lastModified: optionalField(Schema.String)
})
export type DocumentSummary = typeof DocumentSummary.Type

/** A search for documents of a Computer (spec §11.4); an empty list of keywords is no filter. */
export const FinderRequest = Schema.Struct({
  ...targetFields,
  keywords: optionalField(Schema.Array(Schema.String)),
  fileType: optionalField(Schema.String),
  offset: fieldWithDefault(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)), () => 0),
  limit: fieldWithDefault(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)), () => finderPageSizes.default)
})
export type FinderRequest = typeof FinderRequest.Type
