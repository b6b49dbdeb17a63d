import { Record, Schema, String } from "effect"
import { AnswerFields, type ApprovalView } from "../approvals/ApprovalView.ts"
import { JsonObject, type JsonObject as Json } from "../json.ts"
import { BoundedText, Identifier, TimeoutSeconds } from "../model/fields.ts"
import type { CallStatus } from "../model/CallStatus.ts"
import type { Tool } from "../model/Tool.ts"
import type { ExplanationView } from "../policy/CallExplanation.ts"
import {
  type ReplyFields,
  type MethodFields,
  methodNamed,
  type PageMethodName,
  pageMethodNames
} from "../wire/calls.ts"

const officeFields = { line: Identifier, office: Identifier }
const computerFields = { ...officeFields, computer: Identifier }

/** Where a command is executed: here, or at the node of its target. */
export type CommandTarget = "here" | "connection" | "node" | "call" | "computer"

const define = <const Tag extends string, const F extends Schema.Struct.Fields, const T extends CommandTarget>(
  tag: Tag,
  target: T,
  fields: F
) => ({ target, schema: Schema.TaggedStruct(tag, fields) })

/** A request of the table that operators send: its office, and the fields of its method. */
type RequestCommand<K extends PageMethodName> = {
  readonly _tag: Capitalize<K>
  readonly line: string
  readonly office: string
} & MethodFields<K>

/** The tag of the command that sends a request of the table. */
export const requestTag = <K extends PageMethodName>(name: K) => String.capitalize(name)

/** The commands that send requests of the table. Their replies are those of the Computer. */
const requestCommands = Object.fromEntries(
  pageMethodNames.map((name) => {
    const { defaults, fields } = methodNamed(name)
    const members = Record.map(fields, (field, key) => {
      const type = Schema.toType(field)
      return key in defaults ? Schema.optionalKey(type) : type
    })
    return [requestTag(name), define(requestTag(name), "computer", { ...computerFields, ...members })]
  })
) as unknown as {
  readonly [K in PageMethodName as Capitalize<K>]: {
    readonly target: "computer"
    readonly schema: Schema.Codec<RequestCommand<K>, unknown>
  }
}

/** The commands of the page: one request, one reply. Those to a Computer name it by its office. */
export const pageCommands = {
  ...requestCommands,
  /** Watches one office in a stream, instead of the one before: its Computers report their state. */
  Focus: define("Focus", "here", { stream: Identifier, ...officeFields }),
  Disconnect: define("Disconnect", "connection", { sid: Identifier }),
  /** Drains a node: it rejects joins and new calls until it ends. */
  Drain: define("Drain", "node", { node: Identifier }),
  /** Cancels a running call by its id in the stream. */
  CancelCall: define("CancelCall", "call", { id: BoundedText }),
  /** The captured arguments and result of a call. */
  GetCallBody: define("GetCallBody", "call", { id: BoundedText }),
  GetTools: define("GetTools", "computer", computerFields),
  /** Fetches the text of a document by its DPE URI. */
  GetDocument: define("GetDocument", "computer", { ...computerFields, uri: BoundedText }),
  /**
   * Sends a request of the operator to an MCP server, or asks for the list of all servers with `servers/list`. An error of
   * the MCP server has its message. Computers of other implementations list no servers.
   */
  SendMcpRequest: define("SendMcpRequest", "computer", {
    ...computerFields,
    method: Schema.Literals(["servers/list", "prompts/get", "completion/complete"]),
    /** The identity of the MCP server in the office. */
    server: Schema.optionalKey(Identifier),
    params: JsonObject
  }),
  /** An approval of a Computer, with all arguments. */
  GetApproval: define("GetApproval", "computer", { ...computerFields, id: Identifier }),
  /** Decides about a call that waits for an approval. The first answer counts: a later one fails with 409. */
  DecideApproval: define("DecideApproval", "computer", { ...computerFields, id: Identifier, ...AnswerFields }),
  /** Tells how a call of an operator, or of the member `subject`, would be decided. It does not run. */
  ExplainCall: define("ExplainCall", "computer", {
    ...computerFields,
    tool: Identifier,
    params: JsonObject,
    subject: Schema.optionalKey(Identifier)
  })
}

export type PageCommandTag = keyof typeof pageCommands

export const PageCommand = Schema.Union(Object.values(pageCommands).map(({ schema }) => schema))
export type PageCommand = typeof PageCommand.Type

export type PageCommandOf<Tag extends PageCommandTag> = Extract<PageCommand, { readonly _tag: Tag }>

export type TagsWithTarget<T extends CommandTarget> = {
  [Tag in PageCommandTag]: (typeof pageCommands)[Tag]["target"] extends T ? Tag : never
}[PageCommandTag]

/** A call of an operator. Its reply is a stream of {@link PageCallMessage}s; closing it cancels the call. */
export const PageCallRequest = Schema.Struct({
  ...computerFields,
  tool: Identifier,
  params: JsonObject,
  timeout: TimeoutSeconds
})
export type PageCallRequest = typeof PageCallRequest.Type

type RequestReplies = { readonly [K in PageMethodName as Capitalize<K>]: ReplyFields<K> }

/** The replies by the tag of their command. */
export interface PageReplies extends RequestReplies, Record<"Focus" | "Disconnect" | "Drain" | "CancelCall", object> {
  readonly GetTools: { readonly tools: ReadonlyArray<Tool>; readonly startingServers: ReadonlyArray<string> }
  readonly GetDocument: { readonly mimeType: string; readonly text: string; readonly isTruncated: boolean }
  readonly SendMcpRequest: { readonly result: Json }
  readonly GetCallBody: { readonly params: string; readonly result: string }
  readonly GetApproval: ApprovalView
  readonly DecideApproval: ApprovalView
  readonly ExplainCall: ExplanationView
}

/** An error of a command; `code` as in the protocol. */
export interface PageError {
  readonly code: number
  readonly message: string
}

/** A line of the reply to a {@link PageCallRequest}. The last one is a result or an error. */
export type PageCallMessage =
  /** The call is made as the Agent `operator:SUBJECT`, or beside the Agent of the office. */
  | { readonly _tag: "Started"; readonly as: "agent" | "operator"; readonly name: string }
  | { readonly _tag: "Status"; readonly status: CallStatus }
  | { readonly _tag: "Result"; readonly result: Json }
  | { readonly _tag: "Failed"; readonly error: PageError }

/** The session of a page; requests other than GET carry `csrf` in the header `X-A2C-CSRF`. */
export interface PageSession {
  readonly subject: string
  /** The session was started with credentials, and another one needs them again. */
  readonly requiresSignIn: boolean
  readonly csrf: string
  /** The operator may call tools. */
  readonly mayCall: boolean
  /** The Server captures arguments and results. */
  readonly hasBodies: boolean
  /** The origin of the sandbox of apps; missing where no separate one can be reached. */
  readonly appOrigin?: string
  /** The only office of the page, when it serves one. */
  readonly office?: { readonly line: string; readonly office: string }
}
