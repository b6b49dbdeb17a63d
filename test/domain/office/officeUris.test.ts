import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { parseOfficeUri, toOfficeUri } from "../../../src/domain/office/officeUris.ts"
import { hostLabel } from "../../../src/domain/tools/exposedNames.ts"

const Name = Schema.NonEmptyString

describe("office URI", () => {
  it("has the Computer as prefix of the host, and no other scheme", () => {
    const toUri = (uri: string) => toOfficeUri({ computer: "desk", uri })
    assert.strictEqual(toUri("window://app/notes?priority=3"), "window://desk.app/notes?priority=3")
    assert.isUndefined(toUri("https://example.com"))
  })

  it("belongs to no Computer with another scheme, without a Computer, or without a host behind it", () => {
    for (const uri of ["https://desk.app/notes", "window://other.app/notes", "window://desk./notes"]) {
      assert.isUndefined(parseOfficeUri(uri, ["desk"]))
    }
  })

  it.prop("resolves to its Computer among others", [Schema.Array(Name)], ([computers]) => {
    for (const computer of computers) {
      const uri = toOfficeUri({ computer, uri: "dpe://com.example/a/b" }) ?? ""
      assert.deepStrictEqual(parseOfficeUri(uri, new Set(computers)), { computer, uri: "dpe://com.example/a/b" })
    }
  })

  it.prop("uses a valid host label", [Name], ([computer]) => {
    assert.match(hostLabel(computer), /^[a-z0-9-]+$/)
  })
})
