import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  exposedName,
  hostLabel,
  lowestMaxNameLength,
  defaultMaxNameLength
} from "../../../src/domain/tools/exposedNames.ts"
import { parseOfficeUri, toOfficeUri } from "../../../src/domain/office/officeUris.ts"
import { parseRenderedWindow } from "../../../src/domain/desktop/organizeDesktop.ts"

const Name = Schema.NonEmptyString
const Identity = Schema.Struct({ owner: Name, tool: Name })

describe("names of an office's tools", () => {
  it("a name that fits is the owner and the tool", () => {
    assert.strictEqual(exposedName({ owner: "desk", tool: "read_file" }), "desk__read_file")
  })

  it.prop("every name is one that every host accepts", [Identity], ([identity]) => {
    assert.match(exposedName(identity), /^[A-Za-z0-9_-]{1,45}$/)
    assert.isAtMost(exposedName(identity, lowestMaxNameLength).length, lowestMaxNameLength)
  })

  it.prop("different tools have different names", [Schema.Array(Identity)], ([identities]) => {
    const keys = new Set(identities.map(({ owner, tool }) => JSON.stringify([owner, tool])))
    assert.strictEqual(new Set(identities.map((identity) => exposedName(identity))).size, keys.size)
  })

  it("tools whose parts could be cut otherwise are told apart", () => {
    const names = [
      { owner: "a__b", tool: "c" },
      { owner: "a", tool: "b__c" },
      { owner: "a_", tool: "c" },
      { owner: "a", tool: "_c" },
      { owner: "ä", tool: "c" },
      { owner: "ö", tool: "c" }
    ].map((identity) => exposedName(identity))
    assert.strictEqual(new Set(names).size, names.length)
  })

  it("a long name keeps the beginning of both parts and ends in a mark", () => {
    const name = exposedName({
      owner: "the-machine-in-the-corner",
      tool: "search_all_the_documents_of_the_year"
    })
    assert.match(name, /^the-machine.*__search_all.*_[a-z0-9]{8}$/)
    assert.strictEqual(name.length, defaultMaxNameLength)
  })

  it("a short tool leaves its room to its owner", () => {
    const name = exposedName({ owner: "m".repeat(60), tool: "ls" })
    assert.match(name, /^m{32}__ls_[a-z0-9]{8}$/)
  })
})

describe("windows and documents of an office", () => {
  it("the Computer stands before the host", () => {
    assert.strictEqual(
      toOfficeUri({ computer: "desk", uri: "window://app/notes?priority=3" }),
      "window://desk.app/notes?priority=3"
    )
  })

  it("other URIs are none of them", () => {
    assert.isUndefined(toOfficeUri({ computer: "desk", uri: "https://example.com" }))
  })

  it.prop("a URI leads back to its Computer, whoever else is there", [Schema.Array(Name)], ([computers]) => {
    for (const computer of computers) {
      const uri = toOfficeUri({ computer, uri: "dpe://com.example/a/b" }) ?? ""
      assert.deepStrictEqual(parseOfficeUri(uri, new Set(computers)), {
        computer,
        uri: "dpe://com.example/a/b"
      })
    }
  })

  it.prop("a label is part of a host", [Name], ([computer]) => {
    assert.match(hostLabel(computer), /^[a-z0-9-]+$/)
  })

  it("a window's text begins below its URI", () => {
    assert.deepStrictEqual(parseRenderedWindow("window://a\n\nHello\n\nthere"), {
      uri: "window://a",
      text: "Hello\n\nthere"
    })
    assert.deepStrictEqual(parseRenderedWindow("window://a"), { uri: "window://a", text: "" })
  })
})
