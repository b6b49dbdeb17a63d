import { assert, describe, it } from "@effect/vitest"
import { toolResultToOutcome, outcomeToToolResult } from "../../../src/domain/devices/serviceOutcome.ts"

const text = (value: string) => ({ type: "text", text: value })
const image = { type: "image", mimeType: "image/png", data: "iVBOR" }

describe("service outcome", () => {
  it.each([
    [{ content: [text("a"), text("b")] }, "a\nb"],
    [{ content: [] }, ""],
    [{ content: [text('{"t":1}')], structuredContent: { t: 1 } }, { t: 1 }],
    [{ content: [image] }, { type: "image", mimeType: "image/png", base64: "iVBOR" }],
    [{ content: [text("look"), image] }, [text("look"), { type: "image", mimeType: "image/png", base64: "iVBOR" }]],
    [{}, ""],
    [{ content: "x" }, ""],
    [{ content: [1, text("a"), null] }, "a"],
    [{ content: [{ type: "text", text: 1 }] }, { type: "text", text: 1 }],
    [{ content: [{ type: "note", text: "a" }] }, { type: "note", text: "a" }],
    [{ content: [{ type: 7, data: "x" }] }, { type: 7, data: "x" }]
  ])("converts a tool result to data, keeps other blocks, and ignores other values: %j", (result, data) => {
    assert.deepStrictEqual(toolResultToOutcome(result), { success: true, data })
  })

  it.each([
    { type: "text", text: 1 },
    { type: "note", text: "a" },
    { type: "video", mimeType: "video/mp4", base64: "AA" },
    { type: ["image"], mimeType: "image/png", base64: "AA" },
    { type: "image", mimeType: 1, base64: "AA" },
    { type: "image", base64: "AA" },
    { type: "image", mimeType: "image/png" }
  ])("converts data in no form of a block to structured content: %j", (data) => {
    const content = [text(JSON.stringify(data))]
    const result = { content, structuredContent: data, isError: false }
    assert.deepStrictEqual<unknown>(outcomeToToolResult({ success: true, data }), result)
  })

  it("converts a tool error to an error, and the reverse", () => {
    const errorOf = (...content: ReadonlyArray<object>) => toolResultToOutcome({ content, isError: true })
    assert.deepStrictEqual(errorOf(text("no"), text("way")), { success: false, error: "no\nway" })
    assert.deepStrictEqual(errorOf(), { success: false, error: "the tool failed without a message" })
    const result = outcomeToToolResult({ success: false, error: "no" })
    assert.deepStrictEqual<unknown>(result, { content: [text("no")], isError: true })
  })

  const sound = { type: "audio", mimeType: "audio/wav" }

  it.each([
    [text("a"), { content: [text("a")], isError: false }],
    [
      { ...sound, base64: "AA" },
      { content: [{ ...sound, data: "AA" }], isError: false }
    ],
    ["x", { content: [text("x")], isError: false }],
    [undefined, { content: [], isError: false }],
    [null, { content: [], isError: false }],
    [{ t: 1 }, { content: [text('{"t":1}')], structuredContent: { t: 1 }, isError: false }],
    [[1, 2], { content: [text("[1,2]")], isError: false }],
    [[], { content: [text("[]")], isError: false }],
    [3, { content: [text("3")], isError: false }]
  ])("converts data to a tool result: %j", (data, result) => {
    assert.deepStrictEqual(outcomeToToolResult({ success: true, data }), result)
  })

  it("preserves images in both directions", () => {
    for (const content of [[image], [text("look"), image, text("there")]]) {
      assert.deepStrictEqual(outcomeToToolResult(toolResultToOutcome({ content })), { content, isError: false })
    }
  })
})
