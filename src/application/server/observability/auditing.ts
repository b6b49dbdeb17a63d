import { Clock, Effect, Result, UndefinedOr, Context, Data, Exit, Option, Tracer } from "effect"
import { asObject, asString, type JsonObject } from "../../../domain/json.ts"
import { makeTokenBucket, takeToken } from "../../../domain/tokenBucket.ts"
import { type ProtocolError, errorCodes } from "../../../domain/model/ProtocolError.ts"
import { AuditLog, type AuditRecorder } from "../../ports/AuditLog.ts"
import type { Operator } from "../../shared/page/PageSource.ts"
import { truncateText } from "../../shared/logLimits.ts"
import { callOutcome, type CompletedCall, exactOutcome, type ObservedEvent } from "./observers.ts"
import { parseTraceparent } from "../../../domain/traceContext.ts"

/** Records calls, with a digest of their arguments. */
export const auditCall =
  ({ record }: AuditRecorder) =>
  (call: CompletedCall): void => {
    const { agent, approval, computer, decision, endedAt, event, line, reqId, request, startedAt, subject } = call
    const head = asObject(Result.getOrElse(request.head, () => undefined))
    const outcome = callOutcome(call)
    const cause = exactOutcome(call, outcome)
    record({
      time: endedAt,
      fields: {
        type: "call",
        office: agent.office,
        line,
        agent: agent.name,
        subject,
        computer: truncateText(computer),
        event,
        tool: UndefinedOr.map(asString(head["tool_name"]), truncateText),
        req_id: truncateText(reqId),
        outcome,
        ...(cause !== outcome && { cause }),
        ...(approval !== undefined && { approval: truncateText(approval) }),
        ...(decision !== undefined && {
          action: decision.isAllowed ? "allow" : "deny",
          decided_by: truncateText(decision.by)
        }),
        ms: Math.round((endedAt - startedAt) * 1000) / 1000
      },
      request
    })
  }

const membershipFields = (event: ObservedEvent) => {
  switch (event._tag) {
    case "Entered":
    case "Left": {
      const { line, membership, sid, subject } = event
      const { name, office, role } = membership
      const type = event._tag === "Entered" ? "join" : "leave"
      return { type, office, line, role, name, subject, sid }
    }
    case "ConnectionRejected": {
      const { code, reason, remoteAddress, sid } = event
      return { type: "connection_refused", remote: remoteAddress, code, reason: truncateText(reason), sid }
    }
    case "RequestRejected": {
      const { code, membership, reason, sid, subject } = event
      const fields = { code, reason: truncateText(reason), subject, sid }
      return { type: "request_refused", event: truncateText(event.event), ...membership, ...fields }
    }
    case "JoinRejected":
      return { type: "join_refused", subject: event.subject, reason: truncateText(event.reason), sid: event.sid }
  }
}

/** Logs and audits a command of an operator on the office page, whether it succeeds or not. */
export type RecordAction = Effect.Success<typeof makeRecordAction>

export const makeRecordAction = Effect.gen(function* () {
  const audit = yield* AuditLog
  const clock = yield* Clock.Clock
  return <A, R>(
    command: "disconnect" | "drain" | "cancel_call" | "call" | "decide_approval",
    { identity: { subject }, remoteAddress: remote }: Operator,
    target: JsonObject,
    running: Effect.Effect<A, ProtocolError, R>
  ): Effect.Effect<A, ProtocolError, R> => {
    const record = (outcome: string) => {
      const fields = { type: "operator", command, ...target, subject, remote, outcome }
      audit?.record({ time: clock.currentTimeMillisUnsafe(), fields })
      return Effect.logInfo("operator command", { command, subject, outcome, ...target })
    }
    return running.pipe(
      Effect.tap(() => record("ok")),
      Effect.tapError(({ code }) => record(String(code)))
    )
  }
})

/** Rate limit of rejected connections: clients without credentials must not displace other events from the audit. */
const connectionRejectionRate = { perSecond: 10, burst: 1000 }

/**
 * Makes the observer that records joins, leaves, and rejected connections, joins and requests. Beyond a rate limit
 * rejected connections are omitted; the next recorded one has their number.
 */
export const makeMembershipAudit = ({ record }: AuditRecorder, clock: Clock.Clock) => {
  const bucket = makeTokenBucket(connectionRejectionRate, clock.currentTimeMillisUnsafe())
  let omitted = 0
  return (event: ObservedEvent): void => {
    const time = clock.currentTimeMillisUnsafe()
    const fields = membershipFields(event)
    if (event._tag !== "ConnectionRejected") return record({ time, fields })
    if (takeToken(bucket, connectionRejectionRate, time) > 0) {
      omitted += 1
      return
    }
    record({ time, fields: omitted === 0 ? fields : { ...fields, omitted } })
    omitted = 0
  }
}

class CallFailed extends Data.TaggedError("CallFailed")<{ readonly outcome: string }> {
  override get message(): string {
    return `The call ended with ${this.outcome}`
  }
}

const toNanos = (millis: number): bigint => BigInt(Math.round(millis * 1_000_000))

/**
 * Outcomes that are failures of the Server or the Computer, in contrast to those of the caller or the tool. A routed
 * call ends with 503 when the Computer's node is unreachable, overloaded or shutting down.
 */
const serverFailures: ReadonlySet<string> = new Set([
  String(errorCodes.timeout),
  String(errorCodes.internalError),
  String(errorCodes.unavailable),
  "other"
])

/** Records completed calls as spans of the trace in their request id. Without one, a call starts a new trace. */
export const recordCallSpan =
  (tracer: Tracer.Tracer) =>
  (call: CompletedCall): void => {
    const context = parseTraceparent(call.reqId)
    const span = tracer.span({
      name: call.event,
      kind: "server",
      parent: context === undefined ? Option.none() : Option.some(Tracer.externalSpan({ ...context })),
      annotations: Context.empty(),
      links: [],
      startTime: toNanos(call.startedAt),
      root: context === undefined,
      sampled: context?.sampled ?? true
    })
    const outcome = callOutcome(call)
    span.attribute("a2c.office", call.agent.office)
    span.attribute("a2c.agent", call.agent.name)
    span.attribute("a2c.computer", call.computer)
    span.attribute("a2c.outcome", outcome)
    span.end(toNanos(call.endedAt), serverFailures.has(outcome) ? Exit.fail(new CallFailed({ outcome })) : Exit.void)
  }
