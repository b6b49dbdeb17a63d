import { assert, describe, it } from "@effect/vitest"
import { answerFormatProblems } from "../../../src/domain/approvals/approvalsState.ts"

const problemsOf = (format: unknown, value: unknown) =>
  answerFormatProblems({ type: "object", properties: { field: { type: "string", format } } }, { field: value })

describe("the format of an answer", () => {
  it.each([
    ["email", "ada@example.org"],
    ["email", "ädä@exämple.org"],
    ["uri", "https://example.org/ä?q=1"],
    ["uri", "urn:isbn:0451450523"],
    ["date", "2026-02-28"],
    ["date-time", "2026-02-28T10:00:00Z"],
    ["date-time", "2026-02-28T10:00"],
    ["hostname", "no rule for this"],
    [7, "no format"],
    ["email", 7]
  ])("%s accepts %s", (format, value) => assert.deepStrictEqual(problemsOf(format, value), []))

  it.each([
    ["email", "nonsense"],
    ["email", "a b@c"],
    ["uri", "example.org"],
    ["date", "28.2.2026"],
    ["date", "2026-13-01"],
    ["date", "2026-02-28T10:00:00Z"],
    ["date-time", "2026-13-01T10:00:00Z"],
    ["date-time", "2026-02-28"],
    ["date-time", "soon"]
  ])("%s refuses %s", (format, value) =>
    assert.deepStrictEqual(problemsOf(format, value), [`/field: must match format "${format}"`])
  )

  it("does not concern fields that the answer leaves out", () =>
    assert.deepStrictEqual(answerFormatProblems({ properties: { a: { format: "email" } } }, {}), []))
})
