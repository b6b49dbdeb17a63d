import { assert, describe, it } from "@effect/vitest"
import type { ApprovalView } from "../../../src/domain/approvals/ApprovalView.ts"
import { formatApproval } from "../../../src/main/cli/output/approvalText.ts"

const approval: ApprovalView = {
  id: "3f2a",
  computer: "desk",
  server: "notes",
  tool: "write",
  requester: "ada",
  arguments: '{\n  "text": "b"\n}',
  argumentsDigest: "d",
  askedBy: "rule 2",
  requestedAt: 0,
  expiresIn: 90_000,
  state: "open"
}

const lines = (more: Partial<ApprovalView>): ReadonlyArray<string> =>
  formatApproval({ ...approval, ...more }).split("\n")

describe("text of an approval", () => {
  it("shows the call, why it waits, and its arguments in a gutter", () => {
    assert.deepStrictEqual(lines({ reason: "it writes" }), [
      "id          3f2a",
      "tool        write",
      "MCP server  notes",
      "computer    desk",
      "caller      ada",
      "asked by    rule 2: it writes",
      "expires     1m 30s left",
      "arguments:",
      "  {",
      '    "text": "b"',
      "  }"
    ])
  })

  it("compares the arguments with those of the last approved call", () => {
    assert.deepStrictEqual(lines({ previousArguments: '{\n  "text": "a"\n}' }).slice(7), [
      "arguments, compared with those of the last approved call:",
      "  {",
      '-   "text": "a"',
      '+   "text": "b"',
      "  }"
    ])
  })

  it("states that the arguments are the same", () => {
    assert.include(
      lines({ previousArguments: approval.arguments }),
      "arguments, the same as those of the last approved call:"
    )
  })

  it("counts unchanged lines that it leaves out", () => {
    const texts = (last: string) => [...Array.from({ length: 9 }, (_, index) => `line ${index}`), last].join("\n")
    assert.include(lines({ arguments: texts("x"), previousArguments: texts("y") }), "  (6 lines are the same)")
  })

  it("tells how a tool has changed, in words or with both texts", () => {
    const differences = [
      { part: "description", before: "reads", after: "writes\nid  other" },
      { part: "annotations", before: '{"readOnlyHint": true}', after: '{"readOnlyHint": false}' }
    ] as const
    const shown = lines({ change: { approvedAt: 0, approvedBy: "ann", differences } })
    assert.deepStrictEqual(
      shown.slice(7, 11).map((line) => line.replace(/ {2,}/, ": ")),
      [
        "changed: since ann approved the tool at 1970-01-01T00:00:00.000Z",
        "description before: reads",
        "description now: writes\\nid  other",
        "hints: The tool now says that it changes data"
      ]
    )
  })
})
