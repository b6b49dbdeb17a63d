import { assert, describe, it } from "@effect/vitest"
import { joinDateTime, splitDateTime } from "../../../src/domain/schemas/textFormats.ts"

describe("date and time in an input", () => {
  it.each([
    ["2026-11-29T14:30:00Z", { local: "2026-11-29T14:30", offset: "Z" }],
    ["2026-11-29T14:30:05+01:00", { local: "2026-11-29T14:30:05", offset: "+01:00" }],
    ["2026-11-29 14:30:05.25", { local: "2026-11-29T14:30:05.25", offset: "" }],
    ["2026-02-31T14:30:00Z", undefined],
    ["2026-11-29T14:30:05.1234Z", undefined],
    ["14:30:00Z", undefined],
    ["soon", undefined]
  ])("shows %s as its parts", (text, parts) => {
    assert.deepStrictEqual(splitDateTime(text, true), parts)
  })

  it("shows a time without a date", () => {
    assert.deepStrictEqual(splitDateTime("14:30:00-05:00", false), { local: "14:30", offset: "-05:00" })
    assert.isUndefined(splitDateTime("2026-11-29T14:30:00Z", false))
  })

  it.each([
    ["2026-11-29T14:30", "+01:00", "2026-11-29T14:30:00+01:00"],
    ["14:30:05", "Z", "14:30:05Z"],
    ["", "Z", ""]
  ])("joins %s and %s", (local, offset, text) => {
    assert.strictEqual(joinDateTime(local, offset), text)
  })
})
