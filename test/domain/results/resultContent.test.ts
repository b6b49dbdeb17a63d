import { assert, describe, it } from "@effect/vitest"
import { blocksOf, collectContent, formatBinary } from "../../../src/domain/results/resultContent.ts"

const decode = (base64: string) => (base64 === "broken" ? undefined : new Uint8Array(base64.length))

const collect = (content: unknown, more: object = {}) =>
  collectContent({ content, ...more }, { decode, uriOf: (binary) => `uri:${binary}` })

const text = (value: string) => ({ type: "text", text: value })

describe("collectContent", () => {
  it("joins texts and text resources by line breaks", () => {
    const resource = { type: "resource", resource: { uri: "x://1", text: "two" } }
    assert.deepStrictEqual(collect([text("one"), resource, text("three")]), { text: "one\ntwo\nthree", binaries: [] })
  })

  it("puts a line in the place of each binary part", () => {
    const image = { type: "image", mimeType: "image/png", data: "AAAA" }
    const blob = { type: "resource", resource: { uri: "x://1", blob: "AAAAAAAA" } }
    const { binaries, text: whole } = collect([text("one"), image, blob])
    assert.strictEqual(whole, "one\n[image/png, 4 B: uri:1]\n[application/octet-stream, 8 B: uri:2]")
    const found = binaries.map(({ bytes, mimeType }) => `${mimeType} ${bytes.length}`)
    assert.deepStrictEqual(found, ["image/png 4", "application/octet-stream 8"])
  })

  it("takes the JSON of other blocks, and of data that is not base64", () => {
    const others = [
      { type: "resource_link", uri: "x://1", name: "one" },
      { type: "hologram", size: 3 },
      { type: "image", mimeType: "image/png", data: "broken" },
      { type: "text" }
    ]
    const json = others.map((block) => JSON.stringify(block))
    assert.deepStrictEqual(collect(others), { text: json.join("\n"), binaries: [] })
  })

  it("adds structured content unless a text repeats it", () => {
    const structuredContent = { a: [1] }
    assert.strictEqual(collect([text("one")], { structuredContent }).text, 'one\n{"a":[1]}')
    assert.strictEqual(collect([text("one"), text('{ "a": [1] }')], { structuredContent }).text, 'one\n{ "a": [1] }')
    assert.strictEqual(collect([], { structuredContent: null }).text, "null")
    assert.strictEqual(collect([text("one")]).text, "one")
  })
})

describe("blocksOf", () => {
  it("gives the blocks of a result, or nothing", () => {
    assert.deepStrictEqual(blocksOf({ content: [1] }), [1])
    assert.deepStrictEqual(blocksOf({ content: "x" }), [])
  })
})

describe("formatBinary", () => {
  it("shows a foreign type in one short line", () => {
    const shown = formatBinary({ mimeType: `image\n${"x".repeat(100)}`, bytes: new Uint8Array(2048) })
    assert.strictEqual(shown, `image ${"x".repeat(53)}…, 2 KiB`)
  })
})
