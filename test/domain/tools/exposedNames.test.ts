import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  defaultMaxNameLength,
  exposedName,
  hostLabel,
  lowestMaxNameLength,
  sanitizeName
} from "../../../src/domain/tools/exposedNames.ts"

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
    const name = exposedName({ owner: "the-machine-in-the-corner", tool: "search_all_the_documents_of_the_year" })
    assert.match(name, /^the-machine.*__search_all.*_[a-z0-9]{8}$/)
    assert.strictEqual(name.length, defaultMaxNameLength)
  })

  it("gives the unused length of a short tool to its owner", () => {
    const name = exposedName({ owner: "m".repeat(60), tool: "ls" })
    assert.match(name, /^m{32}__ls_[a-z0-9]{8}$/)
  })

  it.each([
    ["a", "x".repeat(defaultMaxNameLength - 3)],
    ["_a", "c"],
    ["a", "c_"]
  ])("keeps an unambiguous name of at most the maximum length: %s, %s", (owner, tool) =>
    assert.strictEqual(exposedName({ owner, tool }), `${owner}__${tool}`)
  )

  it.each([
    ["a", "x".repeat(defaultMaxNameLength - 2), /^a__x{33}_[a-z0-9]{8}$/],
    ["", "c", /^__c_[a-z0-9]{8}$/],
    ["a_", "c", /^a___c_[a-z0-9]{8}$/],
    ["a", "_c", /^a___c_[a-z0-9]{8}$/],
    ["a b", "ä", /^a_b____[a-z0-9]{8}$/]
  ])("ends with a hash otherwise: %s, %s", (owner, tool, expected) =>
    assert.match(exposedName({ owner, tool }), expected)
  )
})

describe("hostLabel", () => {
  it.each(["a", "pc-1", "a-1234567", "a-123456789", "a-12345678-b"])("keeps a name that is a label: %s", (name) =>
    assert.strictEqual(hostLabel(name), name)
  )

  it.each([
    ["a-12345678", /^a-12345678-[a-z0-9]{8}$/],
    ["My PC_1", /^my-pc-1-[a-z0-9]{8}$/],
    ["-a", /^-a-[a-z0-9]{8}$/],
    ["a-", /^a--[a-z0-9]{8}$/],
    ["ä".repeat(100), /^-{40}-[a-z0-9]{8}$/]
  ])("replaces other characters, shortens, and ends with a hash: %s", (name, expected) =>
    assert.match(hostLabel(name), expected)
  )
})

describe("sanitizeName", () => {
  it("keeps a name of permitted characters up to the maximum length", () =>
    assert.strictEqual(sanitizeName("get_x-1", 7), "get_x-1"))

  it.each([
    ["", 20, /^_[a-z0-9]{8}$/],
    ["get x", 20, /^get_x_[a-z0-9]{8}$/],
    ["x".repeat(21), 20, /^x{11}_[a-z0-9]{8}$/]
  ])("ends a changed name with a hash, within the maximum length: %s", (name, maxLength, expected) =>
    assert.match(sanitizeName(name, maxLength), expected)
  )
})
