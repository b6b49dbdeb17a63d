import { Result, Schema } from "effect"
import { AnswerFields, ApprovalView, maxListedApprovals } from "../approvals/ApprovalView.ts"
import type { ApprovalAnswer } from "../approvals/Approval.ts"
import { parseStrictDpeUri } from "../documents/DpeUri.ts"
import type { FinderPage } from "../documents/findDocuments.ts"
import { isJsonObject, JsonObject } from "../json.ts"
import {
  BoundedText,
  fieldWithDefault,
  defaultDpeTimeoutSeconds,
  Identifier,
  InputModes,
  isIdentifier,
  maxTimeoutSeconds,
  optionalField,
  TimeoutSeconds
} from "../model/fields.ts"
import {
  BlobChunk,
  UploadReply,
  DocumentLocation,
  finderPageSizes,
  ResourcePage,
  SkillFile,
  type SkillRef
} from "../model/messages/requests.ts"
import { defaultMcpTimeoutSeconds, McpOutcome } from "../model/messages/mcp.ts"
import { definedOnly } from "../objects.ts"
import { errorCodes, ProtocolError } from "../model/ProtocolError.ts"
import { ToolResult } from "../model/ToolResult.ts"
import { type Codec, makeCodec, makeListCodec } from "../validation.ts"
import { defineCall, defineMethod, type RoutingInfo } from "./defineCall.ts"
import { computerConfigCodec } from "./v0_2/computerConfig.ts"
import * as Messages from "./v0_2/messages.ts"
import { wireStruct } from "../model/wireStruct.ts"
import type { ComputerName, RequestId } from "../model/ids.ts"

/** Avoids the schema, which takes longer than the rest of the routing; `undefined` unless certainly valid. */
const decodeToolCallRoutingFast = (head: unknown): RoutingInfo | undefined => {
  if (!isJsonObject(head)) return undefined
  const { agent, computer, params, req_id: reqId, timeout, tool_name: tool } = head
  return isIdentifier(agent) &&
    isIdentifier(reqId) &&
    isIdentifier(computer) &&
    isIdentifier(tool) &&
    isJsonObject(params) &&
    typeof timeout === "number" &&
    Number.isInteger(timeout) &&
    timeout >= 1 &&
    timeout <= maxTimeoutSeconds
    ? { agent, computer, reqId, timeoutSeconds: timeout }
    : undefined
}

/** The codec of a reply, which names the request that it answers. */
const replyCodec = <const F extends Schema.Struct.Fields>(
  fields: F,
  names: { readonly [K in keyof F]?: string } = {}
) => makeCodec(wireStruct({ ...fields, reqId: Schema.String }, names))

const listCodec = <const F extends Schema.Struct.Fields>(list: keyof F & string, fields: F) =>
  makeListCodec(wireStruct({ ...fields, reqId: Schema.String }), list)

/** Rejects a URI that its Computer would reject (4012). */
const checkDpeUri = ({ uri }: { readonly uri: string }): ProtocolError | undefined => {
  const parsed = parseStrictDpeUri(uri)
  if (Result.isSuccess(parsed)) return undefined
  return new ProtocolError({ code: errorCodes.invalidDpeUri, message: parsed.failure.message, extra: { uri } })
}

/** The argument of a method that only names a Computer. */
const computerOnly = (computer: ComputerName) => ({ computer })

/**
 * The requests to Computers, which the Server routes (spec §5.1): one row each. The Server's routing, the dispatch of the
 * Computer, the methods of Agents with and without Effect and their checks, the commands of the page and the reference
 * follow from the row. `kind`, `from` and the target are the same for all.
 */
export const calls = {
  toolCall: defineCall({
    event: "client:tool_call",
    // `inputModes` are the kinds of questions that the Agent answers.
    fields: {
      toolName: Identifier,
      params: JsonObject,
      timeout: TimeoutSeconds,
      inputModes: optionalField(InputModes)
    },
    reply: makeCodec(ToolResult),
    timeoutSeconds: ({ timeout }) => timeout,
    decodeRoutingFast: decodeToolCallRoutingFast,
    cancellable: true
  }),
  /** `features` of the request are what the Agent knows beyond the protocol; `a2c_features` is not part of it. */
  getTools: defineCall({
    event: "client:get_tools",
    fields: { features: optionalField(Schema.Array(Schema.String)) },
    names: { features: "a2c_features" },
    reply: makeListCodec(Messages.GetToolsRet, "tools", Messages.repairWireTool)
  }),
  /** The MCP servers of a Computer and its inputs, without values. */
  getConfig: defineMethod({
    event: "client:get_config",
    fields: {},
    reply: computerConfigCodec,
    toFields: computerOnly,
    toResult: (config) => config
  }),
  /** The desktop: at most `size` windows, or the one window with exactly the URI `window`. */
  getDesktop: defineMethod({
    event: "client:get_desktop",
    // A size of zero or less requests no windows.
    fields: { size: optionalField(Schema.Int), window: optionalField(BoundedText) },
    names: { size: "desktop_size" },
    reply: listCodec("desktops", { desktops: Schema.Array(Schema.String) }),
    toFields: computerOnly,
    toResult: ({ desktops }) => desktops,
    onPage: true
  }),
  /** Resolves a `dpe://` document to a URI that can be fetched; `timeout` in whole seconds. */
  getDpe: defineMethod({
    event: "client:get_dpe",
    fields: { uri: BoundedText, timeout: optionalField(TimeoutSeconds) },
    reply: replyCodec(DocumentLocation.fields, { metadata: "_meta" }),
    timeoutSeconds: ({ timeout = defaultDpeTimeoutSeconds }) => timeout,
    check: checkDpeUri,
    toFields: (computer: ComputerName, uri: string) => ({ computer, uri }),
    toResult: (location): DocumentLocation => location
  }),
  /** One page of an MCP server's resources, as the server listed them; `cursor` comes from the previous page. */
  getResources: defineMethod({
    event: "client:get_resources",
    fields: { mcpServer: Identifier, cursor: optionalField(BoundedText) },
    reply: listCodec("resources", { ...ResourcePage.fields, resources: Schema.Array(Messages.WireResource) }),
    toFields: (computer: ComputerName, mcpServer: string) => ({ computer, mcpServer }),
    toResult: (page): ResourcePage => page
  }),
  /** Searches the documents of a Computer (spec §11.4); an empty list of keywords is no filter. */
  findDocuments: defineMethod({
    event: "client:get_finder",
    aliases: ["client:list_finder"],
    fields: Messages.finderFields,
    request: makeCodec(Messages.GetFinderReq),
    /** `totalCount` counts all matches before paging. */
    reply: listCodec("documents", { documents: Schema.Array(Messages.DpeDocumentSummary), totalCount: Schema.Int }),
    defaults: { offset: 0, limit: finderPageSizes.default },
    toFields: computerOnly,
    toResult: (page): FinderPage => page,
    onPage: true
  }),
  /**
   * The calls of this Agent that wait for an approval at a Computer, and their open questions. A list omits the long schema
   * of a question: `approvalId` gets the whole of one. Where the owner does not let Agents decide, it gives the questions
   * only, or fails with 403 without one, as `decideApproval` does.
   */
  getApprovals: defineMethod({
    event: "client:get_approvals",
    fields: { approvalId: optionalField(Identifier) },
    reply: replyCodec({ approvals: Schema.Array(ApprovalView).check(Schema.isMaxLength(maxListedApprovals)) }),
    isExtension: true,
    toFields: computerOnly,
    toResult: ({ approvals }) => approvals
  }),
  /**
   * Decides about a call of this Agent, or answers its question: with the `content` of its form. The first answer counts: a
   * later one fails with 409. One that does not fit the form fails with 400, and the question stays open.
   */
  decideApproval: defineMethod({
    event: "client:decide_approval",
    fields: { approvalId: Identifier, ...AnswerFields },
    reply: replyCodec({ approval: ApprovalView }),
    isExtension: true,
    toFields: (computer: ComputerName, approvalId: string, answer: ApprovalAnswer) => ({
      computer,
      approvalId,
      ...answer
    }),
    toResult: ({ approval }) => approval
  }),
  /** The skills of a Computer. */
  skills: defineMethod({
    event: "client:get_skills",
    fields: {},
    reply: listCodec("skills", { skills: Schema.Array(Messages.WireSkillRef) }),
    toFields: computerOnly,
    toResult: ({ skills }): ReadonlyArray<SkillRef> => skills
  }),
  /** A file of a skill, by its path below the folder of the skill. */
  getSkill: defineCall({
    event: "client:get_skill",
    fields: { name: BoundedText, relPath: optionalField(BoundedText) },
    reply: replyCodec(SkillFile.fields)
  }),
  /** A chunk of a blob; offset and size in bytes of the decoded content. */
  getBlob: defineCall({
    event: "client:get_blob",
    fields: {
      blobHandle: BoundedText,
      chunkOffset: fieldWithDefault(Schema.Natural, () => 0),
      maxChunkBytes: optionalField(Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)))
    },
    reply: replyCodec(BlobChunk.fields)
  }),
  /** A request to MCP servers: only sent to Computers that announce `mcp`. */
  mcp: defineCall({
    event: "client:mcp",
    fields: {
      method: Identifier,
      /** The identity of the MCP server in the office. */
      server: optionalField(Identifier),
      params: JsonObject,
      timeout: optionalField(TimeoutSeconds)
    },
    reply: replyCodec(McpOutcome.fields),
    isExtension: true,
    timeoutSeconds: ({ timeout = defaultMcpTimeoutSeconds }) => timeout
  })
}

/** The requests of later lines. */
export const laterCalls = {
  /** A chunk of an upload in base64. The first one has no `uploadId`, and declares size, hash and a hint for the name. */
  putBlob: defineCall({
    event: "client:put_blob",
    fields: {
      uploadId: optionalField(Identifier),
      chunkOffset: Schema.Natural,
      eof: Schema.Boolean,
      blob: Schema.String,
      totalSize: optionalField(Schema.Int),
      sha256: optionalField(BoundedText),
      nameHint: optionalField(BoundedText)
    },
    reply: replyCodec(UploadReply.fields)
  })
}

/** The requests of a line; those of later lines may be missing. */
export type Calls = typeof calls & {
  readonly [K in keyof typeof laterCalls]: (typeof laterCalls)[K] | undefined
}

type Rows = typeof calls & typeof laterCalls

export type CallRequest<K extends keyof Rows> = Parameters<Rows[K]["timeoutSeconds"]>[0]

type CallReply<K extends keyof Rows> = Rows[K]["reply"] extends Codec<infer Reply> ? Reply : never

/** What a reply has beside the id of its request. */
export type ReplyFields<K extends keyof Rows> =
  CallReply<K> extends { readonly reqId: RequestId } ? Omit<CallReply<K>, "reqId" | "omitted"> : CallReply<K>

/** The rows that are methods of Agents. */
export type MethodName = {
  [K in keyof Rows]: Rows[K] extends { readonly method: object } ? K : never
}[keyof Rows]

/** A tool call; `timeout` in whole seconds. */
export type ToolCallRequest = CallRequest<"toolCall">

type MethodRow<K extends MethodName> = Rows[K]["method"]

type NamedFields<K extends MethodName> = ReturnType<MethodRow<K>["toFields"]>

/** Shows the members of a type instead of how it is made. */
type Members<T> = T extends infer All ? { readonly [K in keyof All]: All[K] } : never

/** The other fields, which are the options of the method. */
type MethodOptions<K extends MethodName> = Members<
  Partial<Omit<CallRequest<K>, "agent" | "reqId" | keyof NamedFields<K>>>
>

/** The fields of the request of a method; its Agent adds the others. */
export type MethodFields<K extends MethodName> = NamedFields<K> & MethodOptions<K>

/** The arguments of a method: those that it names, and its options together with `More`. */
export type MethodArguments<K extends MethodName, More = unknown> = [
  ...Parameters<MethodRow<K>["toFields"]>,
  ...(keyof (MethodOptions<K> & More) extends never ? [] : [options?: MethodOptions<K> & More])
]

export type MethodResult<K extends MethodName> = ReturnType<MethodRow<K>["toResult"]>

const isMethod = (name: string): name is MethodName => "method" in calls[name as keyof typeof calls]

export const methodNames: ReadonlyArray<MethodName> = Object.keys(calls).filter(isMethod)

/** The methods that the office page sends for its operators. */
export type PageMethodName = {
  [K in MethodName]: MethodRow<K>["onPage"] extends true ? K : never
}[MethodName]

const isOnPage = (name: MethodName): name is PageMethodName => calls[name].method.onPage

export const pageMethodNames: ReadonlyArray<PageMethodName> = methodNames.filter(isOnPage)

/** A method without the types of its request and its reply. */
export interface AnyMethod {
  readonly fields: Schema.Struct.Fields
  readonly defaults: object
  readonly check: (request: object) => ProtocolError | undefined
  readonly toFields: (...args: ReadonlyArray<unknown>) => object
  readonly toResult: (reply: object) => unknown
}

export const methodNamed = (name: MethodName): AnyMethod => calls[name].method as unknown as AnyMethod

/** Completes the fields of a request, or gives the error of one that its Computer would reject. */
export const completeFields = (name: MethodName, fields: object): Result.Result<object, ProtocolError> => {
  const { check, defaults } = methodNamed(name)
  const complete = { ...defaults, ...definedOnly(fields) }
  const error = check(complete)
  return error === undefined ? Result.succeed(complete) : Result.fail(error)
}
