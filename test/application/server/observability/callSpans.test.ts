import { assert, describe, it } from "@effect/vitest"
import { Exit, type Tracer } from "effect"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { recordCallSpan } from "../../../../src/application/server/observability/callSpans.ts"
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

/** Records one call and gives the status of its span. */
const statusOf = (outcome: CompletedCall["outcome"]): Tracer.SpanStatus => {
  const { spans, tracer } = recorder()
  recordCallSpan(tracer)({
    event: "client:tool_call",
    sid: "sid-1",
    agent: { office: "O1", role: "agent", name: "agent-1" },
    subject: "subject-1",
    computer: "pc-1",
    reqId: "request-1",
    request: jsonBody({}),
    outcome,
    startedAt: 1,
    endedAt: 2
  })
  const [span] = spans
  assert.strictEqual(spans.length, 1)
  assert.exists(span)
  return span.status
}

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
})
