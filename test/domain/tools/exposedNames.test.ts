import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { defaultMaxNameLength, exposedName, lowestMaxNameLength } from "../../../src/domain/tools/exposedNames.ts"

const Name = Schema.NonEmptyString
const Identity = Schema.Struct({ owner: Name, tool: Name })

describe("exposedName", () => {
  it("joins owner and tool when the name fits", () => {
    assert.strictEqual(exposedName({ owner: "desk", tool: "read_file" }), "desk__read_file")
  })

  it.prop("uses only characters that every host accepts", [Identity], ([identity]) => {
    assert.match(exposedName(identity), /^[A-Za-z0-9_-]{1,45}$/)
    assert.isAtMost(exposedName(identity, lowestMaxNameLength).length, lowestMaxNameLength)
  })

  it.prop("gives different names to different tools", [Schema.Array(Identity)], ([identities]) => {
    const keys = new Set(identities.map(({ owner, tool }) => JSON.stringify([owner, tool])))
    assert.strictEqual(new Set(identities.map((identity) => exposedName(identity))).size, keys.size)
  })

  it("distinguishes tools with ambiguous parts", () => {
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

  it("shortens both parts of a long name and ends with a hash", () => {
    const name = exposedName({
      owner: "the-machine-in-the-corner",
      tool: "search_all_the_documents_of_the_year"
    })
    assert.match(name, /^the-machine.*__search_all.*_[a-z0-9]{8}$/)
    assert.strictEqual(name.length, defaultMaxNameLength)
  })

  it("gives the unused length of a short tool to its owner", () => {
    const name = exposedName({ owner: "m".repeat(60), tool: "ls" })
    assert.match(name, /^m{32}__ls_[a-z0-9]{8}$/)
  })
})
