import type { Result } from "effect"
import type { ApprovalView } from "../approvals/ApprovalView.ts"
import type { ComputerConfig } from "../config/computerConfig.ts"
import type { FinderPage } from "../documents/findDocuments.ts"
import type { JsonObject } from "../json.ts"
import type { BlobChunk, BlobRequest, UploadReply, UploadRequest } from "../model/messages/blobs.ts"
import type { CallReport } from "../model/CallStatus.ts"
import type { Role, SessionInfo } from "../model/Membership.ts"
import type { ComputerPart, Notification } from "../model/Notification.ts"
import type { ProtocolError } from "../model/ProtocolError.ts"
import type {
  ApprovalsRequest,
  DecideApprovalRequest,
  DesktopRequest,
  DocumentLocation,
  GetDpeRequest,
  FinderRequest,
  ResourcePage,
  ResourcesRequest,
  TargetRequest,
  ToolCallRequest,
  ToolsRequest
} from "../model/messages/requests.ts"
import type { McpOutcome, McpRequest } from "../model/messages/mcp.ts"
import type { SkillFile, SkillRef, SkillRequest } from "../model/messages/skills.ts"
import type { Tool } from "../model/Tool.ts"
import type { ToolResult } from "../model/ToolResult.ts"
import type { Naming } from "../tools/naming.ts"
import type { Codec } from "../validation.ts"
import type { Version } from "./version.ts"

/** What the Server needs to route a request. */
export interface RoutingInfo {
  /** The name of the sender, as the request states it. */
  readonly agent: string
  readonly computer: string
  readonly reqId: string
  readonly timeoutSeconds: number | undefined
}

/** The Server's side of a request to a Computer: its target, its timeout, and whether it can be cancelled. */
export interface RoutedDefinition {
  readonly kind: "call"
  readonly event: string
  /** Other spellings of the event in the protocol's documents. */
  readonly aliases: ReadonlyArray<string>
  readonly from: "agent"
  readonly decodeRouting: (head: unknown) => Result.Result<RoutingInfo, string>
  /** True when the Agent can cancel it by its request id. */
  readonly cancellable: boolean
}

export interface CallDefinition<Request, Reply> extends RoutedDefinition {
  readonly request: Codec<Request>
  readonly reply: Codec<Reply>
}

type WithReqId<A> = A & { readonly reqId: string }

/** The requests to Computers. */
export interface Calls {
  readonly toolCall: CallDefinition<ToolCallRequest, ToolResult>
  /** `startingServers` and `restartingServers` are MCP servers whose tools are not in the list now. */
  readonly getTools: CallDefinition<
    ToolsRequest,
    WithReqId<{
      readonly tools: ReadonlyArray<Tool>
      readonly startingServers?: ReadonlyArray<string>
      readonly restartingServers?: ReadonlyArray<string>
      readonly features?: ReadonlyArray<string>
    }>
  >
  readonly getConfig: CallDefinition<TargetRequest, ComputerConfig>
  readonly getDesktop: CallDefinition<DesktopRequest, WithReqId<{ readonly desktops: ReadonlyArray<string> }>>
  readonly getDpe: CallDefinition<GetDpeRequest, WithReqId<DocumentLocation>>
  readonly getResources: CallDefinition<ResourcesRequest, WithReqId<ResourcePage>>
  readonly getFinder: CallDefinition<FinderRequest, WithReqId<FinderPage>>
  /** The open approvals of the Agent's calls. Not part of the protocol, as is `decideApproval`. */
  readonly getApprovals: CallDefinition<
    ApprovalsRequest,
    WithReqId<{ readonly approvals: ReadonlyArray<ApprovalView> }>
  >
  readonly decideApproval: CallDefinition<DecideApprovalRequest, WithReqId<{ readonly approval: ApprovalView }>>
  readonly getSkills: CallDefinition<TargetRequest, WithReqId<{ readonly skills: ReadonlyArray<SkillRef> }>>
  readonly getSkill: CallDefinition<SkillRequest, WithReqId<SkillFile>>
  readonly getBlob: CallDefinition<BlobRequest, WithReqId<BlobChunk>>
  /** Missing on lines without uploads. */
  readonly putBlob: CallDefinition<UploadRequest, WithReqId<UploadReply>> | undefined
  /** A request to MCP servers. Not part of the protocol: only sent to Computers that announce `mcp`. */
  readonly mcp: CallDefinition<McpRequest, WithReqId<McpOutcome>>
}

/** Requests that the Server handles itself. */
export interface ServerRequests {
  readonly join: {
    readonly kind: "join"
    readonly event: string
    readonly from: "member"
    readonly request: Codec<{
      readonly role: Role
      readonly name: string
      readonly officeId: string
      readonly takeOver?: boolean
    }>
  }
  readonly leave: {
    readonly kind: "leave"
    readonly event: string
    readonly from: "member"
    readonly request: Codec<{ readonly officeId: string }>
  }
  readonly list: {
    readonly kind: "list"
    readonly event: string
    readonly from: "agent"
    readonly request: Codec<{ readonly agent: string; readonly reqId: string; readonly officeId: string }>
    readonly reply: Codec<
      WithReqId<{ readonly sessions: ReadonlyArray<SessionInfo>; readonly features?: ReadonlyArray<string> }>
    >
  }
}

/** A Computer's update of one of its parts; the Server notifies the office. */
export interface UpdateDefinition {
  readonly kind: "update"
  readonly event: string
  readonly notification: string
  readonly from: "computer"
  readonly part: ComputerPart
  readonly request: Codec<{ readonly computer: string }>
}

/** The Agent's cancellation of a call. */
export interface CancelDefinition {
  readonly kind: "cancel"
  readonly event: string
  readonly from: "agent"
  readonly request: Codec<{ readonly agent: string; readonly reqId: string }>
}

/** A Computer's report on a call, which the Server forwards unchanged to the Agent of this call. */
export interface CallStatusDefinition {
  readonly kind: "callStatus"
  readonly event: string
  readonly notification: string
  readonly from: "computer"
  /** The Server decodes only the call and its wait. Later kinds of status pass through. */
  readonly request: Codec<{
    readonly computer: string
    /** The name of the caller. Computers of earlier versions do not state it. */
    readonly agent?: string
    readonly reqId: string
    /** The call waits for an approval, for this long at most. */
    readonly waitSeconds?: number
  }>
  /** The acknowledgement of a status with `waitSeconds`: how long the Server and the Agent wait on. */
  readonly waitAck: Codec<{ readonly waitSeconds: number }>
}

export type EventDefinition =
  | RoutedDefinition
  | ServerRequests[keyof ServerRequests]
  | UpdateDefinition
  | CancelDefinition
  | CallStatusDefinition

export interface WireMessage {
  readonly event: string
  readonly body: unknown
}

/**
 * One minor version of the protocol: its events, codecs and acknowledgements. Everything outside this folder works with
 * the neutral model, and takes what depends on the line from here.
 */
export interface ProtocolLine {
  /** `MAJOR.MINOR`. */
  readonly name: string
  /** The version that members of this line announce, and that a Server of this line reports. */
  readonly version: Version
  readonly calls: Calls
  readonly serverRequests: ServerRequests
  readonly updates: { readonly [P in ComputerPart]: UpdateDefinition }
  readonly cancel: CancelDefinition
  readonly callStatus: CallStatusDefinition
  /** Routes the `client:*` events of newer peers, by their Computer. */
  readonly unknownCall: RoutedDefinition
  /** The definition of an event that members send. */
  readonly findEventDefinition: (event: string) => EventDefinition | undefined
  /** The key of an office at a Server. Offices of different lines have different keys: their members never meet. */
  readonly officeKey: (officeId: string) => string
  readonly naming: Naming
  /** True when clients state their role in `auth.role` of the handshake, not in the join alone. */
  readonly hasRoleInHandshake: boolean
  /** Binary data of a tool result above this size in bytes, each, is sent as a blob; infinite unless all Agents read blobs. */
  readonly inlineBytes: number
  readonly encodeNotification: (notification: Notification) => WireMessage
  /** Decodes a notification; fails with the error in one line. */
  readonly decodeNotification: (event: string, body: unknown) => Result.Result<Notification, string>
  readonly encodeCallStatus: (report: CallReport) => unknown
  readonly decodeCallStatus: (body: unknown) => Result.Result<CallReport, string>
  /** The event of the last message to a connection that another connection of the same identity replaced. */
  readonly replacedEvent: string
  readonly encodeReplaced: (reason: string) => WireMessage
  /** Encodes the acknowledgement of a join or a leave. */
  readonly encodeMembershipAck: (
    outcome: Result.Result<unknown, { readonly message: string }>
  ) => ReadonlyArray<unknown>
  readonly decodeMembershipAck: (values: ReadonlyArray<unknown>) => Result.Result<void, string>
  readonly encodeProtocolError: (error: ProtocolError) => JsonObject
  /** Decodes the error of an acknowledgement; `undefined` for other values. */
  readonly decodeProtocolError: (value: unknown) => ProtocolError | undefined
}
