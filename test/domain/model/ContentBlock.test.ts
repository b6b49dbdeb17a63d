import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { JsonObject } from "../../../src/domain/json.ts"
import { type ContentBlock, parseToolResult } from "../../../src/domain/model/ToolResult.ts"

/** What a program does with a block; compiles only while `type` narrows. */
const describeBlock = (block: ContentBlock): string => {
  switch (block.type) {
    case "text":
      return block.text
    case "image":
    case "audio":
      return `${block.mimeType} ${block.data}`
    case "resource_link":
      return `${block.name} ${block.uri}`
    case "resource":
      return `${block.resource.uri} ${String(block.resource["text"])}`
    default:
      return `a ${String(block.type)}`
  }
}

const blocks: ReadonlyArray<readonly [block: JsonObject, described: string]> = [
  [{ type: "text", text: "hi" }, "hi"],
  [{ type: "image", data: "AA==", mimeType: "image/png" }, "image/png AA=="],
  [{ type: "audio", data: "AA==", mimeType: "audio/wav" }, "audio/wav AA=="],
  [{ type: "resource_link", uri: "file:///a", name: "a" }, "a file:///a"],
  [{ type: "resource", resource: { uri: "file:///a", text: "A" } }, "file:///a A"],
  [{ type: "hologram", beams: 3 }, "a hologram"],
  [{ type: "toString" }, "a toString"]
]

describe("a content block", () => {
  for (const [block, described] of blocks) {
    it(`keeps all members of type ${String(block["type"])}`, () => {
      const sent = { ...block, _meta: { k: 1 }, vendor: [1] }
      const { content } = Result.getOrThrow(parseToolResult({ content: [sent] }))
      assert.deepStrictEqual<unknown>(content, [sent])
      assert.deepStrictEqual(content.map(describeBlock), [described])
    })
  }

  const incomplete: ReadonlyArray<readonly [block: unknown, problem: string]> = [
    ["hi", "expected an object"],
    [{ text: "hi" }, "type: expected a string"],
    [{ type: 1 }, "type: expected a string"],
    [{ type: "text" }, "text: expected a string"],
    [{ type: "text", text: 1 }, "text: expected a string"],
    [{ type: "image", data: "AA==" }, "mimeType: expected a string"],
    [{ type: "audio", mimeType: "audio/wav" }, "data: expected a string"],
    [{ type: "resource_link", name: "a" }, "uri: expected a string"],
    [{ type: "resource" }, "resource: expected an object with a uri"],
    [{ type: "resource", resource: { text: "A" } }, "resource: expected an object with a uri"]
  ]
  for (const [block, problem] of incomplete) {
    it(`is not ${JSON.stringify(block)}`, () => {
      const ok = { type: "text", text: "ok" }
      assert.deepStrictEqual(parseToolResult({ content: [ok, block] }), Result.fail(`content[1]: ${problem}`))
    })
  }
})
