import { assert, describe, it } from "@effect/vitest"
import { internalError } from "../../../src/domain/model/ProtocolError.ts"
import {
  invalidSkillName,
  skillFileChanged,
  skillFileNotAccessible,
  skillNotFound,
  toBlobError
} from "../../../src/domain/skills/skillErrors.ts"
import { lineNamed, lineNames } from "../../../src/domain/wire/lines.ts"

describe("error of a skill", () => {
  const message = "Skill resource not accessible"

  it.each([
    [invalidSkillName("A"), { code: 4016, message: "Invalid skill name format", details: { name: "A" } }],
    [skillNotFound("a"), { code: 4014, message: "Skill not found", details: { name: "a" } }],
    [
      skillFileNotAccessible("forbidden", ".skillenv"),
      { code: 4017, message, details: { reason: "forbidden", rel_path: ".skillenv" } }
    ],
    [
      skillFileNotAccessible("too_large", "a.bin", 7),
      { code: 4017, message, details: { reason: "too_large", rel_path: "a.bin", total_size: 7 } }
    ]
  ])("has the code and details of the protocol in every line: %#", (error, wire) => {
    for (const name of lineNames) assert.deepStrictEqual<unknown>(lineNamed(name).encodeProtocolError(error), wire)
  })

  it.each([
    [invalidSkillName("A"), "invalid_handle"],
    [skillNotFound("a"), "gone"],
    [skillFileNotAccessible("traversal", "../a"), "invalid_handle"],
    [skillFileNotAccessible("forbidden", ".env"), "forbidden"],
    [skillFileNotAccessible("not_found", "a"), "gone"],
    [skillFileNotAccessible("too_large", "a", 1), "gone"],
    [skillFileChanged(), "gone"]
  ])("becomes an error of blobs in requests for blobs: %#, %s", (error, reason) => {
    const { code, details } = toBlobError(error)
    assert.deepStrictEqual([code, details?.["reason"]], [4018, reason])
  })

  it("stays as it is when it has another code", () => {
    const other = internalError("x")
    assert.strictEqual(toBlobError(other), other)
  })
})
