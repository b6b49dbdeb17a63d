import { Schema, SchemaGetter } from "effect"
import { JsonObject } from "../../json.ts"
import {
  fieldWithDefault,
  Identifier,
  optionalField,
  BoundedText,
  TimeoutSeconds
} from "../../model/fields.ts"
import { Tool } from "./tools.ts"

/** What every request to a Computer carries (seed 000, `AgentCallData` plus the target). */
const targetFields = { agent: Identifier, reqId: Identifier, computer: Identifier }

/**
 * `GetToolsReq` and `GetComputerConfigReq`: nothing beyond the target. It is also all that is known of a `client:*`
 * event of a newer peer (spec §4.1).
 */
export const TargetReq = Schema.Struct(targetFields).pipe(Schema.encodeKeys({ reqId: "req_id" }))

/** `ToolCallReq`; `timeout` in whole seconds. */
export const ToolCallReq = Schema.Struct({
  ...targetFields,
  toolName: Identifier,
  params: JsonObject,
  timeout: TimeoutSeconds
}).pipe(Schema.encodeKeys({ reqId: "req_id", toolName: "tool_name" }))
export type ToolCallReq = typeof ToolCallReq.Type

/** `GetToolsRet`. */
export const GetToolsRet = Schema.Struct({ tools: Schema.Array(Tool), reqId: Schema.String }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

/** `GetDeskTopReq`; a size of zero or less asks for nothing, `window` for one window by its exact URI. */
export const GetDesktopReq = Schema.Struct({
  ...targetFields,
  desktopSize: optionalField(Schema.Int),
  window: optionalField(BoundedText)
}).pipe(Schema.encodeKeys({ reqId: "req_id", desktopSize: "desktop_size" }))

/** `GetDeskTopRet`: each desktop is one rendered window. */
export const GetDesktopRet = Schema.Struct({
  desktops: Schema.Array(Schema.String),
  reqId: Schema.String
}).pipe(Schema.encodeKeys({ reqId: "req_id" }))

/** `GetDPEReq`; `timeout` in whole seconds. The URI is checked by the Computer, which answers 4012. */
export const GetDpeReq = Schema.Struct({
  ...targetFields,
  uri: BoundedText,
  timeout: optionalField(TimeoutSeconds)
}).pipe(Schema.encodeKeys({ reqId: "req_id" }))

/** `GetDPERet`: where the Agent fetches the document itself. */
export const GetDpeRet = Schema.Struct({
  uri: Schema.String,
  mimeType: optionalField(Schema.String),
  size: optionalField(Schema.Finite),
  name: optionalField(Schema.String),
  description: optionalField(Schema.String),
  annotations: optionalField(JsonObject),
  metadata: optionalField(JsonObject),
  reqId: Schema.String
}).pipe(Schema.encodeKeys({ mimeType: "mime_type", metadata: "_meta", reqId: "req_id" }))

/** `GetResourcesReq`; `cursor` comes back from the previous page, verbatim. */
export const GetResourcesReq = Schema.Struct({
  ...targetFields,
  mcpServer: Identifier,
  cursor: optionalField(BoundedText)
}).pipe(Schema.encodeKeys({ reqId: "req_id", mcpServer: "mcp_server" }))

/** `GetResourcesRet`: MCP resources exactly as their server listed them. */
export const GetResourcesRet = Schema.Struct({
  resources: Schema.Array(JsonObject),
  nextCursor: optionalField(Schema.String),
  reqId: Schema.String
}).pipe(Schema.encodeKeys({ nextCursor: "next_cursor", reqId: "req_id" }))

/** How many documents one answer holds unless asked otherwise, and at most (spec §11.4). */
export const finderPageSizes = { default: 20, max: 100 }

const GetFinderFields = Schema.Struct({
  ...targetFields,
  keywords: optionalField(Schema.Array(Schema.String)),
  fileType: optionalField(Schema.String),
  offset: fieldWithDefault(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)), () => 0),
  limit: fieldWithDefault(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)), () => finderPageSizes.default)
})
type GetFinderFields = typeof GetFinderFields.Type

const WireFinderFields = GetFinderFields.mapFields((fields) => ({
  ...fields,
  tags: optionalField(Schema.Array(Schema.String))
})).pipe(Schema.encodeKeys({ reqId: "req_id", fileType: "file_type" }))

/** `GetFinderReq`; `tags` is what a later text called the keywords, read when `keywords` is absent. */
export const GetFinderReq = WireFinderFields.pipe(
  Schema.decodeTo(Schema.toType(GetFinderFields), {
    decode: SchemaGetter.transform(({ tags, ...request }: typeof WireFinderFields.Type): GetFinderFields => {
      const keywords = request.keywords ?? tags
      return { ...request, ...(keywords !== undefined && { keywords }) }
    }),
    encode: SchemaGetter.passthroughSupertype()
  })
)

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
}).pipe(
  Schema.encodeKeys({
    docRef: "doc_ref",
    fileUri: "file_uri",
    fileType: "file_type",
    pageCount: "page_count",
    lastModified: "last_modified"
  })
)
export type DocumentSummary = typeof DocumentSummary.Type

/** `GetFinderRet`; `totalCount` counts what the filters left, before paging. */
export const GetFinderRet = Schema.Struct({
  documents: Schema.Array(DocumentSummary),
  totalCount: Schema.Int,
  reqId: Schema.String
}).pipe(Schema.encodeKeys({ totalCount: "total_count", reqId: "req_id" }))
