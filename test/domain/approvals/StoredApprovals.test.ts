import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { type Grant, maxGrants } from "../../../src/domain/approvals/grants.ts"
import { type StoredApprovals, storedApprovalsCodec } from "../../../src/domain/approvals/StoredApprovals.ts"
import { maxPartLength, maxPins, type ToolPin } from "../../../src/domain/approvals/toolPins.ts"

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
  it("gives grants and pins back", () => {
    const stored = { grants: [grant, earlier, outside], pins: [pin] }
    assert.deepStrictEqual<unknown>(
      storedApprovalsCodec.decode(storedApprovalsCodec.encode(stored)),
      Result.succeed(stored)
    )
  })

  it("holds at most so many grants and pins", () => {
    const grants = Array.from({ length: maxGrants }, () => grant)
    const pins = Array.from({ length: maxPins }, () => pin)
    assert.isTrue(isValid({ grants, pins }))
    assert.isFalse(isValid({ grants: [...grants, grant], pins: [] }))
    assert.isFalse(isValid({ grants: [], pins: [...pins, pin] }))
  })

  it("rejects texts that are too long", () => {
    const longest = { ...grant, by: "x".repeat(1024) }
    assert.isTrue(isValid({ grants: [longest], pins: [] }))
    assert.isFalse(isValid({ grants: [{ ...grant, by: "x".repeat(1025) }], pins: [] }))
    const definition = { ...pin.definition, schema: "x".repeat(maxPartLength + 101) }
    assert.isFalse(isValid({ grants: [], pins: [{ ...pin, definition }] }))
  })
})
