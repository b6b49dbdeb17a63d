import type { Approver, Caller } from "../../../src/domain/approvals/Caller.ts"
import { assert, describe, it } from "@effect/vitest"
import {
  addStandingApproval,
  coversCall,
  type CallPlace,
  type Grant,
  isExpired,
  isInForce,
  maxStandingApprovals
} from "../../../src/domain/approvals/standingApprovals.ts"

const brain: Caller = { _tag: "Agent", name: "brain", membership: 1 }

const grant = (changes: Partial<Grant> = {}) => ({
  id: "g",
  office: "lab",
  line: "0.2",
  server: "notes",
  tool: "write",
  toolDigest: "d",
  by: "ann",
  at: 0,
  approver: "page" as const,
  caller: brain,
  ...changes
})

const lab = { office: "lab", line: "0.2" }

const others: ReadonlyArray<readonly [string, Caller]> = [
  ["another Agent", { _tag: "Agent", name: "other", membership: 1 }],
  ["a later Agent of its name", { ...brain, membership: 2 }],
  ["an operator", { _tag: "Operator", subject: "brain", membership: 1 }]
]

const locals: ReadonlyArray<readonly [string, Caller]> = [
  ["a local client of its name", { _tag: "Local", name: "brain" }],
  ["the owner", { _tag: "Owner" }]
]

/** A grant of a file that an earlier version wrote. */
const earlier = (by: string, place: Partial<CallPlace> = lab): Grant => {
  const { approver: _, caller: __, line: _line, office: _office, ...stored } = grant({ by })
  return { ...stored, ...place }
}

describe("grant", () => {
  it("covers its tool in its office", () => {
    assert.isTrue(coversCall(grant(), { toolDigest: "d", caller: brain, ...lab }))
  })

  it.each([
    ["another tool", "e", lab],
    ["another office", "d", { ...lab, office: "attic" }],
    ["an office of the same id on another line", "d", { ...lab, line: "0.4" }],
    ["calls from outside an office", "d", undefined]
  ])("does not cover %s", (_, toolDigest, place) => {
    assert.isFalse(coversCall(grant(), { toolDigest, caller: brain, ...place }))
  })

  it.each(others)("of the owner or an operator also covers %s", (_, caller) => {
    for (const approver of ["owner", "page"] as const)
      assert.isTrue(coversCall(grant({ approver }), { toolDigest: "d", caller, ...lab }))
  })

  it.each(locals)("of the owner or an operator covers no call of %s, and the reverse", (_, caller) => {
    for (const approver of ["owner", "page"] as const) {
      assert.isFalse(coversCall(grant({ approver }), { toolDigest: "d", caller, ...lab }))
      assert.isTrue(coversCall(grant({ approver, caller }), { toolDigest: "d", caller, ...lab }))
      assert.isFalse(coversCall(grant({ approver, caller }), { toolDigest: "d", caller: brain, ...lab }))
    }
  })

  it("covers the calls of the membership of an Agent that gave it", () => {
    assert.isTrue(coversCall(grant({ approver: "agent" }), { toolDigest: "d", caller: brain, ...lab }))
  })

  it.each([...others, ...locals])("of an Agent does not cover %s", (_, caller) => {
    assert.isFalse(coversCall(grant({ approver: "agent" }), { toolDigest: "d", caller, ...lab }))
  })

  it.each<[Approver["_tag"], ReadonlyArray<string>, boolean]>([
    ["owner", [], true],
    ["owner", ["page", "agent"], true],
    ["page", ["page"], true],
    ["page", [], false],
    ["page", ["agent"], false],
    ["agent", ["page", "agent"], true],
    ["agent", ["page"], false],
    ["agent", [], false]
  ])("of %s with the approvers %j is in force: %s", (approver, approvers, expected) => {
    assert.strictEqual(isInForce(grant({ approver }), approvers), expected)
  })

  it.each([
    ["terminal", [], true],
    ["owner", ["page"], true],
    ["operator:ann", [], false],
    ["operator:ann", ["page"], true],
    ["agent brain", [], false]
  ])("of an earlier version, by %s, with the approvers %j is in force: %s", (by, approvers, expected) => {
    assert.strictEqual(isInForce(earlier(by), approvers), expected)
  })

  it("covers the callers of its place when an earlier version stored it, and none when an Agent gave it", () => {
    const local: Caller = { _tag: "Local", name: "host" }
    assert.isTrue(coversCall(earlier("terminal"), { toolDigest: "d", caller: brain, ...lab }))
    assert.isFalse(coversCall(earlier("terminal"), { toolDigest: "d", caller: local, ...lab }))
    assert.isTrue(coversCall(earlier("terminal", {}), { toolDigest: "d", caller: local }))
    assert.isFalse(coversCall(earlier("agent brain"), { toolDigest: "d", caller: brain, ...lab }))
  })

  it("ends at its time", () => {
    assert.isFalse(isExpired({ until: 10 }, 9))
    assert.isTrue(isExpired({ until: 10 }, 10))
    assert.isFalse(isExpired({}, Number.MAX_SAFE_INTEGER))
  })

  it("takes the place of one for the same tool, office and kind of approver, and of expired ones", () => {
    const known = [
      grant({ id: "old" }),
      grant({ id: "owner", approver: "owner" }),
      grant({ id: "past", toolDigest: "e", until: 5 }),
      grant({ id: "f", office: "f" })
    ]
    assert.deepStrictEqual(
      addStandingApproval(known, grant(), 5).map(({ id }) => id),
      ["owner", "f", "g"]
    )
  })

  it("pushes the oldest one out beyond the limit", () => {
    const many = Array.from({ length: maxStandingApprovals }, (_, index) =>
      grant({ id: `${index}`, toolDigest: `${index}` })
    )
    const all = addStandingApproval(many, grant(), 0)
    assert.deepStrictEqual([all.length, all[0]?.id, all.at(-1)?.id], [maxStandingApprovals, "1", "g"])
  })
})
