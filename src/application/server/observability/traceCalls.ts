import { Context, Data, Exit, Option, Tracer } from "effect"
import { parseTraceparent } from "../../../domain/traceparent.ts"
import type { CompletedCall } from "./observers.ts"
import { callOutcome } from "./callOutcome.ts"

/** What a span ends with that stands for a call nobody answered as it should be. */
class CallFailed extends Data.TaggedError("CallFailed")<{ readonly outcome: string }> {
  override get message(): string {
    return `The call ended with ${this.outcome}`
  }
}

/** Milliseconds of the epoch as the tracer counts: nanoseconds. */
const toNanos = (millis: number): bigint => BigInt(Math.round(millis * 1_000_000))

/** Outcomes that are the Server's or the Computer's fault rather than a caller's mistake or a tool's own failure. */
const isServerFailure = (outcome: string): boolean =>
  outcome === "408" || outcome === "500" || outcome === "other"

/**
 * Records calls when they have ended: as part of the trace that the request id names, or as one of their own when the
 * Agent does not trace.
 */
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
    span.end(
      toNanos(call.endedAt),
      isServerFailure(outcome) ? Exit.fail(new CallFailed({ outcome })) : Exit.void
    )
  }
