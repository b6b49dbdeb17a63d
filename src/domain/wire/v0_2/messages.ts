import { Schema, SchemaGetter } from "effect"
import { asObject, isJsonObject, JsonObject, stringOrEmpty } from "../../json.ts"
import {
  fieldWithDefault,
  Identifier,
  maxIdentifierLength,
  maxTimeoutSeconds,
  optionalField
} from "../../model/fields.ts"
import {
  maxProgressMessageLength,
  maxServerNameLength,
  maxServerNames,
  maxFailureLength
} from "../../model/CallStatus.ts"
import { Role, SessionInfo } from "../../model/Membership.ts"
import { DocumentSummary, finderPageSizes, targetFields, SkillRef } from "../../model/messages/requests.ts"
import { Tool } from "../../model/Tool.ts"
import { wireStruct } from "../../model/wireStruct.ts"

const reqId = Schema.String

const { bundleId: _, ...toolFields } = Tool.fields
/** This line has no bundle ids. */
const SmcpTool = wireStruct(toolFields)

/** Server names of a peer, in a bounded number. */
const serverNames = Schema.Array(Schema.String.check(Schema.isMaxLength(maxServerNameLength))).check(
  Schema.isMaxLength(maxServerNames)
)

const failingServers = Schema.Array(
  Schema.Struct({
    name: Schema.String.check(Schema.isMaxLength(maxServerNameLength)),
    reason: Schema.String.check(Schema.isMaxLength(maxFailureLength))
  })
).check(Schema.isMaxLength(maxServerNames))

/** What a peer knows beyond the protocol, in a bounded number of words. */
const features = Schema.Array(Identifier).check(Schema.isMaxLength(16))

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
 * `startingServers`, `restartingServers`, `failingServers` and `features` are not part of the protocol: MCP servers whose tools
 * are not in the list now, and what the Computer knows, for an Agent that asks.
 */
export const makeGetToolsRet = <W>(tool: Schema.Codec<Tool, W>) =>
  wireStruct(
    {
      tools: Schema.Array(tool),
      startingServers: optionalField(serverNames),
      restartingServers: optionalField(serverNames),
      failingServers: optionalField(failingServers),
      features: optionalField(features),
      reqId
    },
    { features: "a2c_features" }
  )

export const GetToolsRet = makeGetToolsRet(SmcpTool)

/** Copies a member under another name, where that is missing. */
const copyMember = (object: JsonObject, from: string, to: string): JsonObject =>
  Object.hasOwn(object, from) && !Object.hasOwn(object, to) ? { ...object, [to]: object[from] } : object

const renameMember = (object: JsonObject, from: string, to: string): JsonObject => {
  const { [from]: _, ...renamed } = copyMember(object, from, to)
  return renamed
}

const mapAnnotations = (resource: JsonObject, change: (annotations: JsonObject) => JsonObject): JsonObject => {
  const { annotations } = resource
  return isJsonObject(annotations) ? { ...resource, annotations: change(annotations) } : resource
}

/**
 * A resource with the names of MCP and those of the published 0.2, in snake case: Servers of that version drop members
 * with other names. Decoding gives the names of MCP.
 */
export const WireResource = JsonObject.pipe(
  Schema.decodeTo(JsonObject, {
    decode: SchemaGetter.transform((resource: JsonObject) =>
      mapAnnotations(renameMember(resource, "mime_type", "mimeType"), (annotations) =>
        renameMember(annotations, "last_modified", "lastModified")
      )
    ),
    encode: SchemaGetter.transform((resource: JsonObject) =>
      mapAnnotations(copyMember(resource, "mimeType", "mime_type"), (annotations) =>
        copyMember(annotations, "lastModified", "last_modified")
      )
    )
  })
)

/** The fields of a search for documents beside its target. */
export const finderFields = {
  keywords: optionalField(Schema.Array(Schema.String)),
  fileType: optionalField(Schema.String),
  offset: fieldWithDefault(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)), () => 0),
  limit: fieldWithDefault(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)), () => finderPageSizes.default)
}

const WireFinderRequest = wireStruct({
  ...targetFields,
  ...finderFields,
  tags: optionalField(Schema.Array(Schema.String))
})

/** `tags` of a later text is an alias of `keywords`, which has precedence. */
export const GetFinderReq = WireFinderRequest.pipe(
  Schema.decodeTo(Schema.Struct({ ...targetFields, ...finderFields }).pipe(Schema.toType), {
    decode: SchemaGetter.transform(({ tags, ...request }: typeof WireFinderRequest.Type) => {
      const keywords = request.keywords ?? tags
      return { ...request, ...(keywords !== undefined && { keywords }) }
    }),
    encode: SchemaGetter.passthroughSupertype()
  })
)

export const DpeDocumentSummary = wireStruct(DocumentSummary.fields)

export const WireSkillRef = wireStruct(SkillRef.fields, { metadata: "skill_metadata" })

/** `takeOver` is an addition of this project, which published Servers ignore: it replaces a member of the same identity. */
export const EnterOfficeReq = wireStruct({
  role: Role,
  name: Identifier,
  officeId: Identifier,
  takeOver: optionalField(Schema.Boolean)
})

export const LeaveOfficeReq = wireStruct({ officeId: Identifier })

export const ListRoomReq = wireStruct({ agent: Identifier, reqId: Identifier, officeId: Identifier })

const WireSessionInfo = wireStruct(SessionInfo.fields, { version: "a2c_version" })

/** `features` is not part of the protocol: what the Server knows, for members that announce features. */
export const ListRoomRet = wireStruct(
  {
    sessions: Schema.Array(WireSessionInfo),
    features: optionalField(features),
    reqId
  },
  { features: "a2c_features" }
)

/** The body of all `server:update_*` and `notify:update_*` (seed 000, `UpdateComputerConfigReq`). */
export const ComputerRef = Schema.Struct({ computer: Identifier })

/** The body of `server:tool_call_cancel` and its notification. */
export const AgentCallData = wireStruct({ agent: Identifier, reqId: Identifier })

/** How long an approval may wait, and with it the call, in whole seconds. */
const WaitSeconds = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxTimeoutSeconds }))

/** `agent` is the name of the caller, which Computers of earlier versions do not state. */
const statusHead = {
  computer: Identifier,
  agent: optionalField(Identifier),
  reqId: Identifier
}

/** The call of a status: the part of {@link CallStatusData} that a Server needs. */
export const CallStatusHead = wireStruct({ ...statusHead, waitSeconds: optionalField(WaitSeconds) })

/** The body of `server:update_tool_call` and its notification. */
export const CallStatusData = wireStruct({
  ...statusHead,
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
})

/** The acknowledgement of a status that announces a wait: how long the Server and the Agent wait on. */
export const WaitAck = wireStruct({ waitSeconds: Schema.Finite })

/** `EnterOfficeNotification` and `LeaveOfficeNotification`: exactly one of the names is set. */
export const OfficeNotification = wireStruct({
  officeId: Schema.String,
  computer: optionalField(Schema.String),
  agent: optionalField(Schema.String)
})
