import { Schema, SchemaGetter } from "effect"
import { BoundedText, Identifier, optionalField } from "../../model/fields.ts"
import { maxProgressMessageLength, maxServerNameLength, maxServerNames } from "../../model/CallStatus.ts"
import { Role, SessionInfo } from "../../model/Membership.ts"
import {
  DocumentLocation,
  DocumentSummary,
  DpeRequest,
  FinderRequest,
  ResourcePage,
  ResourcesRequest,
  targetFields,
  ToolCallRequest
} from "../../model/requests.ts"
import { Tool } from "../../model/Tool.ts"

const reqId = Schema.String

/** `GetToolsReq` and `GetComputerConfigReq`. Also decodes `client:*` events of newer peers (spec §4.1). */
export const TargetReq = Schema.Struct(targetFields).pipe(Schema.encodeKeys({ reqId: "req_id" }))

export const ToolCallReq = ToolCallRequest.pipe(Schema.encodeKeys({ reqId: "req_id", toolName: "tool_name" }))

const SmcpTool = Tool.pipe(Schema.encodeKeys({ paramsSchema: "params_schema", returnSchema: "return_schema" }))

/** Server names of a peer, in a bounded number. */
const serverNames = Schema.Array(Schema.String.check(Schema.isMaxLength(maxServerNameLength))).check(
  Schema.isMaxLength(maxServerNames)
)

/** `startingServers` is not part of the protocol: MCP servers whose tools are not in the list yet. */
export const GetToolsRet = Schema.Struct({
  tools: Schema.Array(SmcpTool),
  startingServers: optionalField(serverNames),
  reqId
}).pipe(Schema.encodeKeys({ startingServers: "starting_servers", reqId: "req_id" }))

/** A size of zero or less requests no windows, `window` one window by its exact URI. */
export const GetDesktopReq = Schema.Struct({
  ...targetFields,
  desktopSize: optionalField(Schema.Int),
  window: optionalField(BoundedText)
}).pipe(Schema.encodeKeys({ reqId: "req_id", desktopSize: "desktop_size" }))

export const GetDesktopRet = Schema.Struct({ desktops: Schema.Array(Schema.String), reqId }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

export const GetDpeReq = DpeRequest.pipe(Schema.encodeKeys({ reqId: "req_id" }))

export const GetDpeRet = Schema.Struct({ ...DocumentLocation.fields, reqId }).pipe(
  Schema.encodeKeys({ mimeType: "mime_type", metadata: "_meta", reqId: "req_id" })
)

export const GetResourcesReq = ResourcesRequest.pipe(Schema.encodeKeys({ reqId: "req_id", mcpServer: "mcp_server" }))

export const GetResourcesRet = Schema.Struct({ ...ResourcePage.fields, reqId }).pipe(
  Schema.encodeKeys({ nextCursor: "next_cursor", reqId: "req_id" })
)

const WireFinderFields = FinderRequest.mapFields((fields) => ({
  ...fields,
  tags: optionalField(Schema.Array(Schema.String))
})).pipe(Schema.encodeKeys({ reqId: "req_id", fileType: "file_type" }))

/** `tags` of a later text is an alias of `keywords`, which has precedence. */
export const GetFinderReq = WireFinderFields.pipe(
  Schema.decodeTo(Schema.toType(FinderRequest), {
    decode: SchemaGetter.transform(({ tags, ...request }: typeof WireFinderFields.Type): FinderRequest => {
      const keywords = request.keywords ?? tags
      return { ...request, ...(keywords !== undefined && { keywords }) }
    }),
    encode: SchemaGetter.passthroughSupertype()
  })
)

const DpeDocumentSummary = DocumentSummary.pipe(
  Schema.encodeKeys({
    docRef: "doc_ref",
    fileUri: "file_uri",
    fileType: "file_type",
    pageCount: "page_count",
    lastModified: "last_modified"
  })
)

/** `totalCount` counts all matches before paging. */
export const GetFinderRet = Schema.Struct({
  documents: Schema.Array(DpeDocumentSummary),
  totalCount: Schema.Int,
  reqId
}).pipe(Schema.encodeKeys({ totalCount: "total_count", reqId: "req_id" }))

/** `takeOver` is an addition of this project, which published Servers ignore: it replaces a member of the same identity. */
export const EnterOfficeReq = Schema.Struct({
  role: Role,
  name: Identifier,
  officeId: Identifier,
  takeOver: optionalField(Schema.Boolean)
}).pipe(Schema.encodeKeys({ officeId: "office_id", takeOver: "take_over" }))

export const LeaveOfficeReq = Schema.Struct({ officeId: Identifier }).pipe(Schema.encodeKeys({ officeId: "office_id" }))

export const ListRoomReq = Schema.Struct({ agent: Identifier, reqId: Identifier, officeId: Identifier }).pipe(
  Schema.encodeKeys({ reqId: "req_id", officeId: "office_id" })
)

const WireSessionInfo = SessionInfo.pipe(Schema.encodeKeys({ officeId: "office_id", version: "a2c_version" }))

export const ListRoomRet = Schema.Struct({ sessions: Schema.Array(WireSessionInfo), reqId }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

/** The body of all `server:update_*` and `notify:update_*` (seed 000, `UpdateComputerConfigReq`). */
export const ComputerRef = Schema.Struct({ computer: Identifier })

/** The body of `server:tool_call_cancel` and its notification. */
export const AgentCallData = Schema.Struct({ agent: Identifier, reqId: Identifier }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

/** The call of a status: the part of {@link CallStatusData} that a Server needs. */
export const CallStatusHead = Schema.Struct({ computer: Identifier, reqId: Identifier }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

/** The body of `server:update_tool_call` and its notification. */
export const CallStatusData = Schema.Struct({
  computer: Identifier,
  reqId: Identifier,
  status: Schema.Literals(["waiting_for_consent", "waiting_for_servers", "progress"]),
  servers: optionalField(serverNames),
  progress: optionalField(Schema.Finite),
  total: optionalField(Schema.Finite),
  message: optionalField(Schema.String.check(Schema.isMaxLength(maxProgressMessageLength)))
}).pipe(Schema.encodeKeys({ reqId: "req_id" }))

/** `EnterOfficeNotification` and `LeaveOfficeNotification`: exactly one of the names is set. */
export const OfficeNotification = Schema.Struct({
  officeId: Schema.String,
  computer: optionalField(Schema.String),
  agent: optionalField(Schema.String)
}).pipe(Schema.encodeKeys({ officeId: "office_id" }))
