import type { Inspection } from "./Inspection.ts"
import type { CallStatus } from "../model/CallStatus.ts"
import type { ComputerPart } from "../model/Notification.ts"
import type { Role } from "../model/Membership.ts"
import type { OperatorFeatures } from "../office/memberFeatures.ts"
import type { ComputerName, RequestId } from "../model/ids.ts"

/** Addresses an office: offices of one id on different protocol lines are different ones. */
export interface OfficeAddress {
  readonly line: string
  readonly office: string
}

/** A member as the page shows it. Times are milliseconds of the epoch. */
export interface PageMember extends OfficeAddress {
  readonly sid: string
  readonly node: string
  readonly role: Role
  readonly name: string
  /** The subject of its identity. */
  readonly subject: string
  /** The protocol version that it announced. */
  readonly version: string
  readonly joinedAt: number
  readonly features: OperatorFeatures
}

/** A request of an Agent to a Computer as the page shows it. Times are milliseconds of the epoch, with fractions. */
export interface PageCall extends OfficeAddress {
  /** Unique among the calls of all nodes. */
  readonly id: string
  readonly node: string
  readonly agent: string
  readonly subject: string
  readonly computer: ComputerName
  readonly event: string
  /** The tool of a tool call. */
  readonly tool?: string
  readonly reqId: RequestId
  readonly startedAt: number
  /** What the Computer last reported; missing while it reports nothing. */
  readonly status?: CallStatus
  /** The decision of an approver; missing for a call that needed none, or waits for it. */
  readonly decision?: Extract<CallStatus, { readonly _tag: "Decided" }>
  /** Missing while the call runs. */
  readonly endedAt?: number
  /** `ok`, `tool_error`, `cancelled`, `timeout`, or the code of an error as text; missing while the call runs. */
  readonly outcome?: string
  readonly traceId?: string
}

/** A node of the cluster, or the only Server. */
export interface PageNode {
  readonly node: string
  readonly version: string
  readonly lines: ReadonlyArray<string>
  /** `unavailable` when another node does not report any more. */
  readonly state: "starting" | "ready" | "draining" | "unavailable"
  readonly reason?: string
  readonly components: { readonly [component: string]: { readonly ok: boolean; readonly error?: string } }
  readonly startedAt: number
  readonly connections: number
  readonly callsInFlight: number
  readonly callsPerSecond: number
  /** Percentiles of the last minute in milliseconds, with waits for consent; missing without calls. */
  readonly latency?: { readonly p50: number; readonly p90: number; readonly p99: number }
  /** Bytes of memory of the process. */
  readonly memoryBytes: number
}

/** The calls of tools in an office in the last second. Offices without calls are not listed. */
export interface OfficeActivity extends OfficeAddress {
  readonly node: string
  readonly calls: number
  /** Failed calls; those that were denied or cancelled do not count. */
  readonly failed: number
}

/** An event that changes what the page shows. */
export type PageEvent =
  | { readonly _tag: "Entered"; readonly member: PageMember }
  | { readonly _tag: "Left"; readonly sid: string; readonly at: number }
  /** A call started, reported its status, or ended. Replaces what is known of the call. */
  | { readonly _tag: "Call"; readonly call: PageCall }
  | ({
      readonly _tag: "Updated"
      readonly computer: ComputerName
      readonly part: ComputerPart
      readonly at: number
    } & OfficeAddress)
  | {
      readonly _tag: "Rejected"
      readonly node: string
      readonly at: number
      readonly what: "connection" | "join" | "request"
      /** Missing for a join. */
      readonly code?: number
      readonly reason: string
      readonly subject?: string
      readonly remoteAddress?: string
    }
  | { readonly _tag: "Node"; readonly node: PageNode }
  /** Another node cannot be reached any more: its members and running calls are gone. */
  | { readonly _tag: "NodeLost"; readonly node: string; readonly at: number }
  | { readonly _tag: "Activity"; readonly at: number; readonly offices: ReadonlyArray<OfficeActivity> }
  /** The state of a Computer with the feature `inspection`, in the office that the page watches. */
  | ({ readonly _tag: "Inspected"; readonly computer: ComputerName; readonly inspection: Inspection } & OfficeAddress)

/** Events in their order. */
export interface PageBatch {
  /** Milliseconds of the epoch at the Server. */
  readonly at: number
  readonly events: ReadonlyArray<PageEvent>
  /** Calls that were counted in {@link OfficeActivity} but not sent, because there were too many. */
  readonly omittedCalls: number
  /** Other events that were lost since the last batch, because the page reads too slowly. */
  readonly droppedEvents: number
}

/** The first batch of a stream: its events tell the state that the other batches change. */
export interface PageSnapshot extends PageBatch {
  /** Identifies the stream in commands. */
  readonly stream: string
  /** Members that are not listed because there are too many. */
  readonly omittedMembers: number
}

export type PageMessage = PageSnapshot | PageBatch
