import { assert, describe, it } from "@effect/vitest"
import { modelPartsOf, modelTextOf, onlyTextOf } from "../../../src/adapters/llm/modelContent.ts"
import { dot } from "./tools.ts"

describe("modelPartsOf", () => {
  it("keeps text, images and audio", () => {
    const content = [
      { type: "text" as const, text: "a dot" },
      { type: "image" as const, data: dot, mimeType: "image/png" },
      { type: "audio" as const, data: "AAAA", mimeType: "audio/wav" }
    ]
    assert.deepStrictEqual(modelPartsOf({ content }), [
      { type: "text", text: "a dot" },
      { type: "media", data: dot, mimeType: "image/png" },
      { type: "media", data: "AAAA", mimeType: "audio/wav" }
    ])
  })

  it("takes the text or the image of an embedded resource", () => {
    const content = [
      { type: "resource" as const, resource: { uri: "note://one", text: "first" } },
      { type: "resource" as const, resource: { uri: "note://dot", mimeType: "image/png", blob: dot } }
    ]
    assert.deepStrictEqual(modelPartsOf({ content }), [
      { type: "text", text: "first" },
      { type: "media", data: dot, mimeType: "image/png" }
    ])
  })

  it("names files that a model may not read", () => {
    const content = [
      { type: "resource" as const, resource: { uri: "file:///a.zip", mimeType: "application/zip", blob: "AAAA" } },
      { type: "resource" as const, resource: { uri: "file:///b", blob: "AAAA" } },
      { type: "resource_link" as const, uri: "file:///c", name: "c" }
    ]
    assert.strictEqual(
      onlyTextOf(modelPartsOf({ content })),
      [
        '{"uri":"file:///a.zip","mimeType":"application/zip"}',
        '{"uri":"file:///b"}',
        '{"type":"resource_link","uri":"file:///c","name":"c"}'
      ].join("\n")
    )
  })

  it("takes the structured content where there is no other", () => {
    const structuredContent = { width: 3 }
    assert.strictEqual(modelTextOf({ content: [], structuredContent }), '{"width":3}')
    assert.strictEqual(modelTextOf({ content: [{ type: "text", text: "3 m" }], structuredContent }), "3 m")
    assert.strictEqual(modelTextOf({ content: [] }), "")
  })
})

describe("onlyTextOf", () => {
  it("finds no text in a result with an image", () => {
    const content = [
      { type: "text" as const, text: "a dot" },
      { type: "image" as const, data: dot, mimeType: "image/png" }
    ]
    assert.isUndefined(onlyTextOf(modelPartsOf({ content })))
    assert.strictEqual(modelTextOf({ content }), "a dot")
  })
})
