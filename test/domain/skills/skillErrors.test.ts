import { assert, describe, it } from "@effect/vitest"
import { internalError, type ProtocolError } from "../../../src/domain/model/ProtocolError.ts"
import {
  invalidSkillName,
  skillFileChanged,
  skillFileNotAccessible,
  skillNotFound,
  toBlobError
} from "../../../src/domain/skills/skillErrors.ts"
import { lineNamed, lineNames } from "../../../src/domain/wire/lines.ts"

/** The encodings of an error in all lines. */
const encodings = (error: ProtocolError) => lineNames.map((name) => lineNamed(name).encodeProtocolError(error))

describe("error of a skill", () => {
  it("has the code and details of the protocol in every line", () => {
    const message = "Skill resource not accessible"
    const expected = [
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
    ] as const
    for (const [error, wire] of expected)
      assert.deepStrictEqual(
        encodings(error),
        lineNames.map(() => wire)
      )
  })

  it("becomes an error of blobs in requests for blobs", () => {
    const reasons = [
      invalidSkillName("A"),
      skillNotFound("a"),
      skillFileNotAccessible("traversal", "../a"),
      skillFileNotAccessible("forbidden", ".env"),
      skillFileNotAccessible("not_found", "a"),
      skillFileNotAccessible("too_large", "a", 1),
      skillFileChanged()
    ].map((error) => {
      const { code, details } = toBlobError(error)
      return [code, details?.["reason"]]
    })
    assert.deepStrictEqual(reasons, [
      [4018, "invalid_handle"],
      [4018, "gone"],
      [4018, "invalid_handle"],
      [4018, "forbidden"],
      [4018, "gone"],
      [4018, "gone"],
      [4018, "gone"]
    ])
    const other = internalError("x")
    assert.strictEqual(toBlobError(other), other)
  })
})
