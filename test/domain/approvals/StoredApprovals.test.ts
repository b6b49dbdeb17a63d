import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Caller } from "../../../src/domain/approvals/Caller.ts"
import {
  type Grant,
  maxStandingApprovals,
  type StoredApprovals,
  storedApprovalsCodec
} from "../../../src/domain/approvals/standingApprovals.ts"
import { maxPartLength, maxPins, type ToolPin } from "../../../src/domain/tools/toolPins.ts"

const outside: Grant = { id: "g1", server: "notes", tool: "write", toolDigest: "d1", by: "ann", at: 5 }

const earlier: Grant = { ...outside, office: "team", line: "0.2", until: 9 }

const grant: Grant = { ...earlier, approver: "page", caller: { _tag: "Agent", name: "brain", membership: 3 } }

const pin: ToolPin = {
  server: "notes",
  tool: "write",
  digest: "d1",
  definition: { name: "write", description: "Writes", schema: "{}", annotations: "{}", server: "notes" },
  at: 5,
  by: "ann"
}

const isValid = (stored: StoredApprovals): boolean => Result.isSuccess(storedApprovalsCodec.decode(stored))

describe("the file of approvals", () => {
  it("holds at most so many grants and pins", () => {
    const grants = Array.from({ length: maxStandingApprovals }, () => grant)
    const pins = Array.from({ length: maxPins }, () => pin)
    assert.isTrue(isValid({ grants, pins }))
    assert.isFalse(isValid({ grants: [...grants, grant], pins: [] }))
    assert.isFalse(isValid({ grants: [], pins: [...pins, pin] }))
  })

  const name = "x".repeat(100_000)
  const callers: ReadonlyArray<Caller> = [
    { _tag: "Local", name },
    { _tag: "Agent", name, membership: 1 },
    { _tag: "Operator", subject: name, membership: 1 }
  ]
  it.each<[string, StoredApprovals]>([
    ["any grant and pin", { grants: [grant, earlier, outside], pins: [pin] }],
    ["a tool in a grant", { grants: [{ ...grant, tool: name }], pins: [] }],
    ["a tool in a pin", { grants: [], pins: [{ ...pin, tool: name }] }],
    ["an MCP server", { grants: [{ ...grant, server: name }], pins: [{ ...pin, server: name }] }],
    ["an office", { grants: [{ ...grant, office: name }], pins: [] }],
    ["an approver", { grants: [{ ...grant, by: name }], pins: [{ ...pin, by: name }] }],
    ...callers.map((caller): [string, StoredApprovals] => [
      `a caller: ${caller._tag}`,
      { grants: [{ ...grant, caller }], pins: [] }
    ])
  ])("keeps the name of %s at any length, and with it all others", (_, stored) => {
    const decoded = storedApprovalsCodec.decode(storedApprovalsCodec.encode(stored))
    assert.deepStrictEqual<unknown>(decoded, Result.succeed(stored))
  })

  it("rejects parts of a definition that are too long", () => {
    const definition = { ...pin.definition, schema: "x".repeat(maxPartLength + 101) }
    assert.isFalse(isValid({ grants: [], pins: [{ ...pin, definition }] }))
  })
})
