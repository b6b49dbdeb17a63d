import { Context, Result } from "effect"
import { asObject, isJsonObject } from "../../../domain/json.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import type { PublicMembership } from "../../../domain/model/Membership.ts"
import type { ComputerPart } from "../../../domain/model/Notification.ts"
import { errorCodes, type ProtocolError } from "../../../domain/model/ProtocolError.ts"
import { decodeProtocolError } from "../../../domain/wire/lines.ts"
import type { Body } from "../../ports/Body.ts"
import type { ComputerName, RequestId } from "../../../domain/model/ids.ts"

/** A routed request when its routing starts. */
export interface StartedCall {
  /** Unique among the calls of this Server. */
  readonly serial: number
  /** The event of the protocol's table; `client:*` for an event that the table does not list. */
  readonly event: string
  /** The session of the Agent. */
  readonly sid: string
  readonly agent: PublicMembership
  /** The protocol line of both members. */
  readonly line: string
  /** The subject of the Agent's identity. */
  readonly subject: string
  readonly computer: ComputerName
  readonly reqId: RequestId
  readonly request: Body
  /** Milliseconds of the epoch, with fractions. */
  readonly startedAt: number
  /** What its Computer reported last; missing while it reports nothing. */
  readonly status?: CallStatus
  /** The id of its approval, where its Computer named it. */
  readonly approval?: string
  /** The decision of an approver about the call. */
  readonly decision?: CallDecision
}

type CallDecision = Extract<CallStatus, { readonly _tag: "Decided" }>

/** A routed request and its outcome. */
export interface CompletedCall extends StartedCall {
  /** The Computer's reply, or the error. */
  readonly outcome: Body | ProtocolError
  readonly endedAt: number
}

const knownCodes: ReadonlySet<number> = new Set(Object.values(errorCodes))

/** A code as a label. Codes outside of the protocol become `other`, because labels must be few. */
export const codeLabel = (code: number): string => (knownCodes.has(code) ? String(code) : "other")

/**
 * The outcome of a call: `ok`, `tool_error` for a tool that ran and failed, or the label of its error code. A large
 * reply whose head is not parsed counts as `ok`: the parse would cost more than the routing.
 */
export const callOutcome = ({ outcome }: Pick<CompletedCall, "outcome">): string => {
  if ("_tag" in outcome) return codeLabel(outcome.code)
  if (!outcome.isHeadParsed) return "ok"
  const head = Result.getOrElse(outcome.head, () => undefined)
  if (!isJsonObject(head)) return "other"
  if (head["isError"] === true) return "tool_error"
  const error = decodeProtocolError(head)
  return error === undefined ? "ok" : codeLabel(error.code)
}

/** The observers of one kind of event; none by default. An observer must not throw. */
export type Observers<A> = Context.Reference<ReadonlyArray<(event: A) => void>>

/** The outcome of a call. Unlike {@link callOutcome} it tells calls that did not run, were cancelled or timed out from failed tools. */
export const exactOutcome = (call: Pick<CompletedCall, "outcome">, outcome = callOutcome(call)): string => {
  const { outcome: reply } = call
  // A large reply is not parsed: that would cost more than the routing.
  if ("_tag" in reply || !reply.isHeadParsed) return outcome
  const { _meta, meta } = asObject(Result.getOrElse(reply.head, () => undefined))
  if (_meta === undefined && meta === undefined) return outcome
  const {
    a2c_cancelled: isCancelled,
    a2c_timeout: isTimeout,
    error_code: code
  } = { ...asObject(_meta), ...asObject(meta) }
  if (isCancelled === true) return "cancelled"
  if (isTimeout === true) return "timeout"
  return outcome === "tool_error" && typeof code === "number" ? String(code) : outcome
}

const makeObservers = <A>(name: string): Observers<A> =>
  Context.Reference<ReadonlyArray<(event: A) => void>>(`a2c-smcp/application/server/observability/${name}`, {
    defaultValue: () => []
  })

/** Called after every routed request: metrics, traces, the audit. */
export const CallObservers = makeObservers<CompletedCall>("CallObservers")

/** Called for every status of a call, which the call then has. */
export const CallStatusObservers = makeObservers<() => StartedCall>("CallStatusObservers")

/** Called for every update that the members of an office are notified of. */
export const UpdateObservers = makeObservers<{
  readonly line: string
  readonly office: string
  readonly computer: ComputerName
  /** The part of the Computer that has changed. */
  readonly part: ComputerPart
}>("UpdateObservers")

/** A join, a leave, or a rejected connection, join or request. */
export type ObservedEvent =
  | {
      readonly _tag: "Entered" | "Left"
      readonly sid: string
      readonly membership: PublicMembership
      /** The protocol line of the member: offices of different lines are different ones. */
      readonly line: string
      /** The subject of the member's identity. */
      readonly subject: string
    }
  | {
      readonly _tag: "ConnectionRejected"
      /** Missing for an HTTP request that opens no session: of another version or origin, or for an operator's page. */
      readonly sid?: string
      readonly remoteAddress: string
      readonly code: number
      readonly reason: string
    }
  | { readonly _tag: "JoinRejected"; readonly sid: string; readonly subject: string; readonly reason: string }
  /** A request that ended before it was routed, or a message that was dropped. Excess ones are reported once per burst. */
  | {
      readonly _tag: "RequestRejected"
      readonly sid: string
      readonly subject: string
      readonly membership: PublicMembership | undefined
      readonly event: string
      readonly code: number
      readonly reason: string
    }

/** Called for every {@link ObservedEvent}, synchronously: metrics, the audit. */
export const MembershipObservers = makeObservers<ObservedEvent>("MembershipObservers")
