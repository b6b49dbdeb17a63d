import { assert, describe, it } from "@effect/vitest"
import {
  addGrant,
  coversApproval,
  findGrant,
  type Grant,
  isExpired,
  maxGrants
} from "../../../src/domain/approvals/grants.ts"

const grant = (changes: Partial<Grant> = {}): Grant => ({
  id: "g",
  office: "lab",
  line: "0.2",
  server: "notes",
  tool: "write",
  toolDigest: "d",
  by: "ann",
  at: 0,
  ...changes
})

const lab = { office: "lab", line: "0.2" }
const { line: _line, office: _office, ...outside } = grant()

describe("grant", () => {
  it("covers its tool in its office", () => {
    assert.strictEqual(findGrant([grant({ toolDigest: "e" }), grant()], "d", lab, 0)?.id, "g")
    assert.isTrue(coversApproval(grant(), { toolDigest: "d", ...lab }))
  })

  it.each([
    ["another tool", "e", lab],
    ["another office", "d", { ...lab, office: "attic" }],
    ["an office of the same id on another line", "d", { ...lab, line: "0.4" }],
    ["calls from outside an office", "d", undefined]
  ])("does not cover %s", (_, toolDigest, place) => {
    assert.isUndefined(findGrant([grant()], toolDigest, place, 0))
    assert.isFalse(coversApproval(grant(), { toolDigest, ...place }))
  })

  it("covers only calls from outside an office when it was given there", () => {
    assert.isDefined(findGrant([outside], "d", undefined, 0))
    assert.isUndefined(findGrant([outside], "d", lab, 0))
  })

  it("ends at its time", () => {
    assert.isDefined(findGrant([grant({ until: 10 })], "d", lab, 9))
    assert.isUndefined(findGrant([grant({ until: 10 })], "d", lab, 10))
    assert.isFalse(isExpired({}, Number.MAX_SAFE_INTEGER))
  })

  it("takes the place of one for the same tool and office, and of expired ones", () => {
    const others = [
      grant({ id: "old" }),
      grant({ id: "past", toolDigest: "e", until: 5 }),
      grant({ id: "f", office: "f" })
    ]
    assert.deepStrictEqual(
      addGrant(others, grant(), 5).map(({ id }) => id),
      ["f", "g"]
    )
  })

  it("pushes the oldest one out beyond the limit", () => {
    const many = Array.from({ length: maxGrants }, (_, index) => grant({ id: `${index}`, toolDigest: `${index}` }))
    const all = addGrant(many, grant(), 0)
    assert.deepStrictEqual([all.length, all[0]?.id, all.at(-1)?.id], [maxGrants, "1", "g"])
  })
})
