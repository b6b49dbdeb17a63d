import { Schema } from "effect"
import { AnswerFields, type ApprovalView } from "../approvals/ApprovalView.ts"
import { JsonObject, type JsonObject as Json } from "../json.ts"
import { BoundedText, Identifier, TimeoutSeconds } from "../model/fields.ts"
import type { CallStatus } from "../model/CallStatus.ts"
import type { DocumentSummary } from "../model/messages/requests.ts"
import type { Tool } from "../model/Tool.ts"
import type { ExplanationView } from "../policy/CallExplanation.ts"

const officeFields = { line: Identifier, office: Identifier }
const computerFields = { ...officeFields, computer: Identifier }

/** Watches one office in a stream, instead of the one before: its Computers report their state. */
const Focus = Schema.TaggedStruct("Focus", { stream: Identifier, ...officeFields })
/** Closes the connection of a member. */
const Disconnect = Schema.TaggedStruct("Disconnect", { sid: Identifier })
/** Drains a node: it rejects joins and new calls until it ends. */
const Drain = Schema.TaggedStruct("Drain", { node: Identifier })
/** Cancels a running call by its id in the stream. */
const CancelCall = Schema.TaggedStruct("CancelCall", { id: BoundedText })
const GetTools = Schema.TaggedStruct("GetTools", computerFields)
/** Renders the desktop as the Agent sees it; each window starts with its URI and a line break. */
const GetDesktop = Schema.TaggedStruct("GetDesktop", computerFields)
const FindDocuments = Schema.TaggedStruct("FindDocuments", {
  ...computerFields,
  keywords: Schema.Array(BoundedText),
  offset: Schema.Int
})
/** Fetches the text of a document by its DPE URI. */
const GetDocument = Schema.TaggedStruct("GetDocument", { ...computerFields, uri: BoundedText })
/**
 * Sends a request of the operator to an MCP server, or asks for the list of all servers with `servers/list`. An error of
 * the MCP server has its message. Computers of other implementations list no servers.
 */
const SendMcpRequest = Schema.TaggedStruct("SendMcpRequest", {
  ...computerFields,
  method: Schema.Literals(["servers/list", "prompts/get", "completion/complete"]),
  /** The identity of the MCP server in the office. */
  server: Schema.optionalKey(Identifier),
  params: JsonObject
})
/** The captured arguments and result of a call. */
const GetCallBody = Schema.TaggedStruct("GetCallBody", { id: BoundedText })

/** An approval of a Computer, with all arguments. */
const GetApproval = Schema.TaggedStruct("GetApproval", { ...computerFields, id: Identifier })
/** Decides about a call that waits for an approval. The first answer counts: a later one fails with 409. */
const DecideApproval = Schema.TaggedStruct("DecideApproval", { ...computerFields, id: Identifier, ...AnswerFields })

/** Tells how a call of an operator, or of the member `subject`, would be decided. It does not run. */
const ExplainCall = Schema.TaggedStruct("ExplainCall", {
  ...computerFields,
  tool: Identifier,
  params: JsonObject,
  subject: Schema.optionalKey(Identifier)
})

/** A command of the page: one request, one reply. */
export const PageCommand = Schema.Union([
  Focus,
  Disconnect,
  Drain,
  CancelCall,
  GetTools,
  GetDesktop,
  FindDocuments,
  GetDocument,
  SendMcpRequest,
  GetCallBody,
  GetApproval,
  DecideApproval,
  ExplainCall
])
export type PageCommand = typeof PageCommand.Type

/** A call of an operator. Its reply is a stream of {@link PageCallMessage}s; closing it cancels the call. */
export const PageCallRequest = Schema.Struct({
  ...computerFields,
  tool: Identifier,
  params: JsonObject,
  timeout: TimeoutSeconds
})
export type PageCallRequest = typeof PageCallRequest.Type

/** The replies by the tag of their command. */
export interface PageReplies {
  readonly Focus: object
  readonly Disconnect: object
  readonly Drain: object
  readonly CancelCall: object
  readonly GetTools: { readonly tools: ReadonlyArray<Tool>; readonly startingServers: ReadonlyArray<string> }
  readonly GetDesktop: { readonly windows: ReadonlyArray<string> }
  readonly FindDocuments: { readonly documents: ReadonlyArray<DocumentSummary>; readonly total: number }
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
  /** The name of the operator. */
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
