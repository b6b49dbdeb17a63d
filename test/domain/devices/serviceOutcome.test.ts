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
