import { Schema, SchemaGetter } from "effect"
import { DocumentSummary } from "../../model/DocumentSummary.ts"
import { BoundedText, optionalField } from "../../model/fields.ts"
import {
  DocumentLocation,
  DpeRequest,
  FinderRequest,
  ResourcePage,
  ResourcesRequest,
  targetFields,
  ToolCallRequest
} from "../../model/requests.ts"
import { SmcpTool } from "./tools.ts"

const reqId = Schema.String

/**
 * `GetToolsReq` and `GetComputerConfigReq`: the target only. Also decodes `client:*` events of newer peers (spec
 * §4.1).
 */
export const TargetReq = Schema.Struct(targetFields).pipe(Schema.encodeKeys({ reqId: "req_id" }))

/** `ToolCallReq`. */
export const ToolCallReq = ToolCallRequest.pipe(Schema.encodeKeys({ reqId: "req_id", toolName: "tool_name" }))

/** `GetToolsRet`. */
export const GetToolsRet = Schema.Struct({ tools: Schema.Array(SmcpTool), reqId }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

/** `GetDeskTopReq`; a size of zero or less requests no windows, `window` one window by its exact URI. */
export const GetDesktopReq = Schema.Struct({
  ...targetFields,
  desktopSize: optionalField(Schema.Int),
  window: optionalField(BoundedText)
}).pipe(Schema.encodeKeys({ reqId: "req_id", desktopSize: "desktop_size" }))

/** `GetDeskTopRet`: each desktop is one rendered window. */
export const GetDesktopRet = Schema.Struct({ desktops: Schema.Array(Schema.String), reqId }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

/** `GetDPEReq`. */
export const GetDpeReq = DpeRequest.pipe(Schema.encodeKeys({ reqId: "req_id" }))

/** `GetDPERet`. */
export const GetDpeRet = Schema.Struct({ ...DocumentLocation.fields, reqId }).pipe(
  Schema.encodeKeys({ mimeType: "mime_type", metadata: "_meta", reqId: "req_id" })
)

/** `GetResourcesReq`. */
export const GetResourcesReq = ResourcesRequest.pipe(Schema.encodeKeys({ reqId: "req_id", mcpServer: "mcp_server" }))

/** `GetResourcesRet`. */
export const GetResourcesRet = Schema.Struct({ ...ResourcePage.fields, reqId }).pipe(
  Schema.encodeKeys({ nextCursor: "next_cursor", reqId: "req_id" })
)

const WireFinderFields = FinderRequest.mapFields((fields) => ({
  ...fields,
  tags: optionalField(Schema.Array(Schema.String))
})).pipe(Schema.encodeKeys({ reqId: "req_id", fileType: "file_type" }))

/** `GetFinderReq`; `tags` of a later text is an alias of `keywords`, which has precedence. */
export const GetFinderReq = WireFinderFields.pipe(
  Schema.decodeTo(Schema.toType(FinderRequest), {
    decode: SchemaGetter.transform(({ tags, ...request }: typeof WireFinderFields.Type): FinderRequest => {
      const keywords = request.keywords ?? tags
      return { ...request, ...(keywords !== undefined && { keywords }) }
    }),
    encode: SchemaGetter.passthroughSupertype()
  })
)

/** `DPEDocumentSummary`. */
const WireDocumentSummary = DocumentSummary.pipe(
  Schema.encodeKeys({
    docRef: "doc_ref",
    fileUri: "file_uri",
    fileType: "file_type",
    pageCount: "page_count",
    lastModified: "last_modified"
  })
)

/** `GetFinderRet`; `totalCount` counts all matches before paging. */
export const GetFinderRet = Schema.Struct({
  documents: Schema.Array(WireDocumentSummary),
  totalCount: Schema.Int,
  reqId
}).pipe(Schema.encodeKeys({ totalCount: "total_count", reqId: "req_id" }))
