import { Context, Data, Exit, Option, Tracer } from "effect"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { parseTraceparent } from "../../../domain/traceparent.ts"
import { callOutcome, type CompletedCall } from "./observers.ts"

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
