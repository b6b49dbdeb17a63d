import { Schema, SchemaGetter } from "effect"
import { asObject, isJsonObject, JsonObject, stringOrEmpty } from "../../json.ts"
import { BlobChunk, BlobRequest } from "../../model/messages/blobs.ts"
import { ApprovalView, maxListedApprovals } from "../../approvals/ApprovalView.ts"
import { Identifier, maxIdentifierLength, maxTimeoutSeconds, optionalField } from "../../model/fields.ts"
import { maxProgressMessageLength, maxServerNameLength, maxServerNames } from "../../model/CallStatus.ts"
import { McpOutcome, McpRequest } from "../../model/messages/mcp.ts"
import { Role, SessionInfo } from "../../model/Membership.ts"
import {
  DecideApprovalRequest,
  ApprovalsRequest,
  DesktopRequest,
  DocumentLocation,
  DocumentSummary,
  GetDpeRequest,
  FinderRequest,
  ResourcePage,
  ResourcesRequest,
  TargetRequest,
  ToolCallRequest,
  ToolsRequest
} from "../../model/messages/requests.ts"
import { SkillFile, SkillRef, SkillRequest } from "../../model/messages/skills.ts"
import { Tool } from "../../model/Tool.ts"

const reqId = Schema.String

/** The body of requests that state only their target. Also decodes `client:*` events of newer peers (spec §4.1). */
export const TargetReq = TargetRequest.pipe(Schema.encodeKeys({ reqId: "req_id" }))

export const ToolCallReq = ToolCallRequest.pipe(
  Schema.encodeKeys({ reqId: "req_id", toolName: "tool_name", inputModes: "input_modes" })
)

/** The names of a tool's members on the wire. */
export const toolKeys = { bundleId: "bundle_id", paramsSchema: "params_schema", returnSchema: "return_schema" } as const

const { bundleId: _, ...toolFields } = Tool.fields
const { bundleId: __, ...ownToolKeys } = toolKeys
/** This line has no bundle ids. */
const SmcpTool = Schema.Struct(toolFields).pipe(Schema.encodeKeys(ownToolKeys))

/** Server names of a peer, in a bounded number. */
const serverNames = Schema.Array(Schema.String.check(Schema.isMaxLength(maxServerNameLength))).check(
  Schema.isMaxLength(maxServerNames)
)

/** What a peer knows beyond the protocol, in a bounded number of words. */
const features = Schema.Array(Identifier).check(Schema.isMaxLength(16))

/** `features` is not part of the protocol. */
export const GetToolsReq = ToolsRequest.pipe(Schema.encodeKeys({ reqId: "req_id", features: "a2c_features" }))

/** Gives the members of a tool that other implementations send in another form the one that means the same. */
export const repairWireTool = (tool: unknown): unknown => {
  if (!isJsonObject(tool)) return tool
  const { description, meta, params_schema: params, return_schema: result } = tool
  return {
    ...tool,
    description: stringOrEmpty(description),
    params_schema: asObject(params),
    return_schema: isJsonObject(result) ? result : null,
    meta: isJsonObject(meta) ? meta : null
  }
}

/**
 * `startingServers`, `restartingServers` and `features` are not part of the protocol: MCP servers whose tools are not in the
 * list now, and what the Computer knows, for an Agent that asks.
 */
export const makeGetToolsRet = <W>(tool: Schema.Codec<Tool, W>) =>
  Schema.Struct({
    tools: Schema.Array(tool),
    startingServers: optionalField(serverNames),
    restartingServers: optionalField(serverNames),
    features: optionalField(features),
    reqId
  }).pipe(
    Schema.encodeKeys({
      startingServers: "starting_servers",
      restartingServers: "restarting_servers",
      features: "a2c_features",
      reqId: "req_id"
    })
  )

export const GetToolsRet = makeGetToolsRet(SmcpTool)

/** A size of zero or less requests no windows. */
export const GetDesktopReq = DesktopRequest.pipe(Schema.encodeKeys({ reqId: "req_id", desktopSize: "desktop_size" }))

export const GetDesktopRet = Schema.Struct({ desktops: Schema.Array(Schema.String), reqId }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

export const GetDpeReq = GetDpeRequest.pipe(Schema.encodeKeys({ reqId: "req_id" }))

export const GetDpeRet = Schema.Struct({ ...DocumentLocation.fields, reqId }).pipe(
  Schema.encodeKeys({ mimeType: "mime_type", metadata: "_meta", reqId: "req_id" })
)

export const GetResourcesReq = ResourcesRequest.pipe(Schema.encodeKeys({ reqId: "req_id", mcpServer: "mcp_server" }))

/** Copies the members under the other names of the pairs, where they are missing. */
const addNames = (object: JsonObject, pairs: ReadonlyArray<readonly [from: string, to: string]>): JsonObject => ({
  ...object,
  ...Object.fromEntries(
    pairs.flatMap(([from, to]) =>
      Object.hasOwn(object, from) && !Object.hasOwn(object, to) ? [[to, object[from]] as const] : []
    )
  )
})

const removeNames = (object: JsonObject, names: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)))

/**
 * A resource with the names of MCP and those of the published 0.2, in snake case: Servers of that version drop members
 * with other names. Decoding gives the names of MCP.
 */
const WireResource = JsonObject.pipe(
  Schema.decodeTo(JsonObject, {
    decode: SchemaGetter.transform((resource: JsonObject) => {
      const named = removeNames(addNames(resource, [["mime_type", "mimeType"]]), ["mime_type"])
      const { annotations } = named
      if (!isJsonObject(annotations)) return named
      const dated = addNames(annotations, [["last_modified", "lastModified"]])
      return { ...named, annotations: removeNames(dated, ["last_modified"]) }
    }),
    encode: SchemaGetter.transform((resource: JsonObject) => {
      const { annotations } = resource
      const dated = isJsonObject(annotations)
        ? { annotations: addNames(annotations, [["lastModified", "last_modified"]]) }
        : {}
      return addNames({ ...resource, ...dated }, [["mimeType", "mime_type"]])
    })
  })
)

export const GetResourcesRet = Schema.Struct({
  ...ResourcePage.fields,
  resources: Schema.Array(WireResource),
  reqId
}).pipe(Schema.encodeKeys({ nextCursor: "next_cursor", reqId: "req_id" }))

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

const WireSkillRef = SkillRef.pipe(Schema.encodeKeys({ allowedTools: "allowed_tools", metadata: "skill_metadata" }))

export const GetSkillsRet = Schema.Struct({ skills: Schema.Array(WireSkillRef), reqId }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

export const GetSkillReq = SkillRequest.pipe(Schema.encodeKeys({ reqId: "req_id", relPath: "rel_path" }))

export const GetSkillRet = Schema.Struct({ ...SkillFile.fields, reqId }).pipe(
  Schema.encodeKeys({
    relPath: "rel_path",
    mimeType: "mime_type",
    totalSize: "total_size",
    blobHandle: "blob_handle",
    reqId: "req_id"
  })
)

export const GetBlobReq = BlobRequest.pipe(
  Schema.encodeKeys({
    reqId: "req_id",
    blobHandle: "blob_handle",
    chunkOffset: "chunk_offset",
    maxChunkBytes: "max_chunk_bytes"
  })
)

export const GetBlobRet = Schema.Struct({ ...BlobChunk.fields, reqId }).pipe(
  Schema.encodeKeys({
    blobHandle: "blob_handle",
    mimeType: "mime_type",
    totalSize: "total_size",
    chunkOffset: "chunk_offset",
    reqId: "req_id"
  })
)

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

/** `features` is not part of the protocol: what the Server knows, for members that announce features. */
export const ListRoomRet = Schema.Struct({
  sessions: Schema.Array(WireSessionInfo),
  features: optionalField(features),
  reqId
}).pipe(Schema.encodeKeys({ features: "a2c_features", reqId: "req_id" }))

/** The body of all `server:update_*` and `notify:update_*` (seed 000, `UpdateComputerConfigReq`). */
export const ComputerRef = Schema.Struct({ computer: Identifier })

/** The body of `server:tool_call_cancel` and its notification. */
export const AgentCallData = Schema.Struct({ agent: Identifier, reqId: Identifier }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

/** How long an approval may wait, in whole seconds. */
const WaitSeconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxTimeoutSeconds }))

/** The call of a status: the part of {@link CallStatusData} that a Server needs. */
export const CallStatusHead = Schema.Struct({
  computer: Identifier,
  agent: optionalField(Identifier),
  reqId: Identifier,
  waitSeconds: optionalField(WaitSeconds)
}).pipe(Schema.encodeKeys({ reqId: "req_id", waitSeconds: "wait_seconds" }))

/** The body of `server:update_tool_call` and its notification. */
export const CallStatusData = Schema.Struct({
  computer: Identifier,
  agent: optionalField(Identifier),
  reqId: Identifier,
  status: Schema.Literals(["waiting_for_consent", "decided", "waiting_for_servers", "progress"]),
  approvalId: optionalField(Identifier),
  mcpServer: optionalField(Identifier),
  toolName: optionalField(Identifier),
  waitSeconds: optionalField(WaitSeconds),
  allowed: optionalField(Schema.Boolean),
  decidedBy: optionalField(Schema.String.check(Schema.isMaxLength(maxIdentifierLength * 2))),
  question: optionalField(Schema.Boolean),
  servers: optionalField(serverNames),
  progress: optionalField(Schema.Finite),
  total: optionalField(Schema.Finite),
  message: optionalField(Schema.String.check(Schema.isMaxLength(maxProgressMessageLength)))
}).pipe(
  Schema.encodeKeys({
    reqId: "req_id",
    approvalId: "approval_id",
    mcpServer: "mcp_server",
    toolName: "tool_name",
    waitSeconds: "wait_seconds",
    decidedBy: "decided_by"
  })
)

/** The acknowledgement of a status that announces a wait: how long the Server and the Agent wait on. */
export const WaitAck = Schema.Struct({ waitSeconds: Schema.Finite }).pipe(
  Schema.encodeKeys({ waitSeconds: "wait_seconds" })
)

/** A request for the open approvals of the calls of an Agent, or for all of one. Not part of the protocol. */
export const GetApprovalsReq = ApprovalsRequest.pipe(Schema.encodeKeys({ reqId: "req_id", approvalId: "approval_id" }))

/** The open approvals of the calls of an Agent. Not part of the protocol. */
export const GetApprovalsRet = Schema.Struct({
  approvals: Schema.Array(ApprovalView).check(Schema.isMaxLength(maxListedApprovals)),
  reqId
}).pipe(Schema.encodeKeys({ reqId: "req_id" }))

/** An Agent's answer to an approval. Not part of the protocol. */
export const DecideApprovalReq = DecideApprovalRequest.pipe(
  Schema.encodeKeys({ reqId: "req_id", approvalId: "approval_id" })
)
export const DecideApprovalRet = Schema.Struct({ approval: ApprovalView, reqId }).pipe(
  Schema.encodeKeys({ reqId: "req_id" })
)

/** A request to the MCP servers of a Computer. Not part of the protocol. */
export const McpReq = McpRequest.pipe(Schema.encodeKeys({ reqId: "req_id" }))
export const McpRet = Schema.Struct({ ...McpOutcome.fields, reqId }).pipe(Schema.encodeKeys({ reqId: "req_id" }))

/** `EnterOfficeNotification` and `LeaveOfficeNotification`: exactly one of the names is set. */
export const OfficeNotification = Schema.Struct({
  officeId: Schema.String,
  computer: optionalField(Schema.String),
  agent: optionalField(Schema.String)
}).pipe(Schema.encodeKeys({ officeId: "office_id" }))
