import type { Result } from "effect"
import type { JsonObject } from "../json.ts"
import type { CallReport } from "../model/CallStatus.ts"
import type { Role, SessionInfo } from "../model/Membership.ts"
import type { ComputerPart, Notification } from "../model/Notification.ts"
import type { ProtocolError } from "../model/ProtocolError.ts"
import type { Naming } from "../tools/naming.ts"
import type { Codec } from "../validation.ts"
import type { Calls } from "./calls.ts"
import type { RoutedDefinition } from "./defineCall.ts"
import type { Version } from "./version.ts"
import type { ComputerName, RequestId } from "../model/ids.ts"

type WithReqId<A> = A & { readonly reqId: RequestId }

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
    readonly request: Codec<{ readonly agent: string; readonly reqId: RequestId; readonly officeId: string }>
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
  readonly request: Codec<{ readonly computer: ComputerName }>
}

/** The Agent's cancellation of a call. */
export interface CancelDefinition {
  readonly kind: "cancel"
  readonly event: string
  readonly from: "agent"
  readonly request: Codec<{ readonly agent: string; readonly reqId: RequestId }>
}

/** A Computer's report on a call, which the Server forwards unchanged to the Agent of this call. */
export interface CallStatusDefinition {
  readonly kind: "callStatus"
  readonly event: string
  readonly notification: string
  readonly from: "computer"
  /** The Server decodes only the call and its wait. Later kinds of status pass through. */
  readonly request: Codec<{
    readonly computer: ComputerName
    /** The name of the caller. Computers of earlier versions do not state it. */
    readonly agent?: string
    readonly reqId: RequestId
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
