import { Context, Data, Exit, Option, Tracer } from "effect"
import { parseTraceparent } from "../../../domain/traceparent.ts"
import type { CompletedCall } from "./observers.ts"
import { callOutcome } from "./callOutcome.ts"

/** The error of a span whose call failed. */
class CallFailed extends Data.TaggedError("CallFailed")<{ readonly outcome: string }> {
  override get message(): string {
    return `The call ended with ${this.outcome}`
  }
}

const toNanos = (millis: number): bigint => BigInt(Math.round(millis * 1_000_000))

/** True for failures of the Server or the Computer, in contrast to those of the caller or the tool. */
const isServerFailure = (outcome: string): boolean => outcome === "408" || outcome === "500" || outcome === "other"

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
    span.end(toNanos(call.endedAt), isServerFailure(outcome) ? Exit.fail(new CallFailed({ outcome })) : Exit.void)
  }
