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
    [{ content: [text("look"), image] }, [text("look"), { type: "image", mimeType: "image/png", base64: "iVBOR" }]]
  ])("converts a tool result to data: %j", (result, data) => {
    assert.deepStrictEqual(toolResultToOutcome(result), { success: true, data })
  })

  it.each([
    [{}, ""],
    [{ content: "x" }, ""],
    [{ content: [1, text("a"), null] }, "a"],
    [{ content: [{ type: "text", text: 1 }] }, { type: "text", text: 1 }],
    [{ content: [{ type: "note", text: "a" }] }, { type: "note", text: "a" }],
    [{ content: [{ type: 7, data: "x" }] }, { type: 7, data: "x" }]
  ])("keeps blocks without a device form, and ignores other values: %j", (result, data) => {
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
    assert.deepStrictEqual(outcomeToToolResult({ success: true, data }), {
      content: [text(JSON.stringify(data))],
      structuredContent: data,
      isError: false
    })
  })

  it("converts data in the form of a block to this block", () => {
    for (const [data, block] of [
      [text("a"), text("a")],
      [
        { type: "audio", mimeType: "audio/wav", base64: "AA" },
        { type: "audio", mimeType: "audio/wav", data: "AA" }
      ]
    ]) {
      assert.deepStrictEqual(outcomeToToolResult({ success: true, data }), { content: [block], isError: false })
    }
  })

  it("converts a tool error to an error", () => {
    const result = { content: [text("no"), text("way")], isError: true }
    assert.deepStrictEqual(toolResultToOutcome(result), { success: false, error: "no\nway" })
    assert.deepStrictEqual(toolResultToOutcome({ content: [], isError: true }), {
      success: false,
      error: "the tool failed without a message"
    })
  })

  it.each([
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

  it("converts an error to a tool error", () => {
    assert.deepStrictEqual(outcomeToToolResult({ success: false, error: "no" }), {
      content: [text("no")],
      isError: true
    })
  })

  it("preserves images in both directions", () => {
    for (const content of [[image], [text("look"), image, text("there")]]) {
      assert.deepStrictEqual(outcomeToToolResult(toolResultToOutcome({ content })), {
        content,
        isError: false
      })
    }
  })
})
