import { assert, describe, it } from "@effect/vitest"
import { Cause, Exit, Option, Tracer } from "effect"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { recordCallSpan } from "../../../../src/application/server/observability/auditing.ts"
import type { CompletedCall } from "../../../../src/application/server/observability/observers.ts"
import {
  computerNotFound,
  internalError,
  shuttingDown,
  timedOut,
  tooManyRequests,
  unavailable
} from "../../../../src/domain/model/ProtocolError.ts"
import { recorder } from "../../../recorder.ts"
import { completedCall } from "../parts.ts"

/** Records one call with a tracer. */
const record = (tracer: Tracer.Tracer, given: Partial<CompletedCall>): void =>
  recordCallSpan(tracer)(completedCall(given))

/** Records one call and gives its span. */
const spanOf = (given: Partial<CompletedCall>): Tracer.Span => {
  const { spans, tracer } = recorder()
  record(tracer, given)
  const [span] = spans
  assert.strictEqual(spans.length, 1)
  assert.exists(span)
  return span
}

const statusOf = (outcome: CompletedCall["outcome"]): Tracer.SpanStatus => spanOf({ outcome }).status

const isFailed = (outcome: CompletedCall["outcome"]): boolean => {
  const status = statusOf(outcome)
  assert.strictEqual(status._tag, "Ended")
  return status._tag === "Ended" && Exit.isFailure(status.exit)
}

describe("recordCallSpan", () => {
  it("marks failures of the Server and the Computer as errors", () => {
    const failures = [
      timedOut(1),
      internalError("broken"),
      unavailable("The node of Computer 'pc-1' cannot be reached"),
      shuttingDown()
    ]
    for (const error of failures) assert.isTrue(isFailed(error), String(error.code))
  })

  it("marks successes and failures of the caller or the tool as ok", () => {
    const outcomes = [
      jsonBody({ content: [] }),
      jsonBody({ isError: true, content: [] }),
      computerNotFound("pc-1"),
      tooManyRequests("Too many", "calls_per_agent", 1)
    ]
    for (const outcome of outcomes) assert.isFalse(isFailed(outcome))
  })

  it("describes the call", () => {
    const { attributes, kind, name, status } = spanOf({ startedAt: 1.5, endedAt: 4 })
    assert.deepStrictEqual([name, kind], ["client:tool_call", "server"])
    assert.deepStrictEqual(Object.fromEntries(attributes), {
      "a2c.office": "O1",
      "a2c.agent": "agent-1",
      "a2c.computer": "pc-1",
      "a2c.outcome": "ok"
    })
    assert.deepInclude(status, { startTime: 1_500_000n, endTime: 4_000_000n })
  })

  it("starts a sampled trace for a request id without one", () => {
    const { parent, sampled } = spanOf({})
    assert.deepStrictEqual([parent, sampled], [Option.none(), true])
  })

  it.each([
    ["01", true],
    ["00", false]
  ] as const)("continues the trace of the request id with flags %s", (flags, isSampled) => {
    const [traceId, spanId] = ["a".repeat(32), "b".repeat(16)]
    const { parent, sampled, traceId: own } = spanOf({ reqId: `00-${traceId}-${spanId}-${flags}` })
    assert.strictEqual(sampled, isSampled)
    assert.strictEqual(own, traceId)
    assert.strictEqual(Option.getOrUndefined(parent)?.spanId, spanId)
  })

  it("makes a root span only without a trace in the request id", () => {
    const { tracer } = recorder()
    const roots: Array<boolean> = []
    const watched = Tracer.make({
      span: (options) => {
        roots.push(options.root)
        return tracer.span(options)
      }
    })
    for (const reqId of ["request-1", `00-${"a".repeat(32)}-${"b".repeat(16)}-01`]) record(watched, { reqId })
    assert.deepStrictEqual(roots, [true, false])
  })

  it("names the outcome in the error of a failed call", () => {
    const status = statusOf(timedOut(1))
    const cause = status._tag === "Ended" && Exit.isFailure(status.exit) ? status.exit.cause : Cause.empty
    assert.include(String(Cause.squash(cause)), "408")
  })
})
