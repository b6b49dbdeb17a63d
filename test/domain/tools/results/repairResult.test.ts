import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { checkJsonBody, type JsonObject } from "../../../../src/domain/json.ts"
import { fromMcpResult, publishResult } from "../../../../src/domain/tools/mcpConversion.ts"
import { repairResult } from "../../../../src/domain/tools/results/repairResult.ts"
import { oddItems } from "../../../application/bridge/listings/oddItems.ts"

const text = (value: string) => ({ type: "text", text: value })
const image = { type: "image", data: "AAEC", mimeType: "image/png" }
const link = { type: "resource_link", uri: "file:///a", name: "a" }
const embedded = { type: "resource", resource: { uri: "file:///a", mimeType: "text/plain", text: "x" } }
const tool = { name: "t", description: "", paramsSchema: {}, returnSchema: { type: "object" } }

const convert = (result: object) => Result.getOrThrow(fromMcpResult({ ...result }))

describe("fromMcpResult", () => {
  it.each([
    ["content that is null", null, []],
    ["one block instead of a list", text("a"), [text("a")]],
    ["a text instead of a list", "a", [text("a")]],
    ["a number instead of a list", 5, [text("5")]],
    [
      "an image as a data URL that alone names its type",
      [{ type: "image", data: "data:image/png;base64,AAEC" }],
      [image]
    ],
    ["a block that is null", [text("a"), null], [text("a")]],
    ["a block that is a text", ["a"], [text("a")]],
    ["a block that is a number", [5], [text("5")]],
    ["members that are null", [{ ...text("a"), annotations: null, _meta: null }], [text("a")]],
    [
      "odd annotations",
      [{ ...text("a"), annotations: { priority: 7, audience: "user" } }],
      [{ ...text("a"), annotations: { audience: ["user"] } }]
    ],
    ["a text that is null", [{ type: "text", text: null }], [text("")]],
    ["a text that is an object", [{ type: "text", text: { a: 1 } }], [text('{"a":1}')]],
    ["a text without a type", [{ text: "a" }], [text("a")]],
    [
      "an image without its type",
      [{ type: "image", data: "AAEC" }],
      [{ ...image, mimeType: "application/octet-stream" }]
    ],
    ["an image as a data URL", [{ ...image, data: "data:image/png;base64,AAEC" }], [image]],
    ["an image as a data URL in capitals", [{ ...image, data: "DATA:IMAGE/PNG;BASE64,AAEC" }], [image]],
    ["an image in the alphabet of URLs", [{ ...image, data: "-_8=" }], [{ ...image, data: "+/8=" }]],
    [
      "an image that is no base64",
      [text("a"), { ...image, data: "no!" }],
      [text("a"), text("(content omitted: data: expected a string)")]
    ],
    [
      "a link without a name",
      [{ type: "resource_link", uri: "file:///a", size: null, icons: "x" }],
      [{ ...link, name: "file:///a" }]
    ],
    [
      "a resource with nulls",
      [{ type: "resource", resource: { ...embedded.resource, blob: null, _meta: null } }],
      [embedded]
    ],
    [
      "a resource without contents",
      [{ type: "resource", resource: { uri: "a" } }],
      [text("(content omitted: resource: expected an object with a uri)")]
    ],
    ["a block of an unknown type", [{ type: "hologram", data: null }], [{ type: "hologram", data: null }]]
  ])("repairs %s", (_case, content, expected) => {
    assert.deepStrictEqual<unknown>(convert({ content }), { content: expected, isError: false })
  })

  it.each([
    [{ isError: "true" }, { content: [], isError: true }],
    [
      { isError: 0, structuredContent: null, _meta: null },
      { content: [], isError: false }
    ],
    [
      { content: null, structuredContent: { a: null } },
      { content: [], isError: false, structuredContent: { a: null } }
    ]
  ])("repairs the members of %j", (result, expected) => assert.deepStrictEqual<unknown>(convert(result), expected))
})

describe("publishResult", () => {
  it("gives results that clients accept with one odd block", () => {
    const blocks = [
      { ...image, annotations: { audience: ["user"] }, _meta: {} },
      { ...link, size: 3 },
      embedded,
      text("a"),
      { type: "video" }
    ]
    for (const { item, label } of blocks.flatMap((block) => oddItems({ block }, "id", String))) {
      const result = Result.getOrThrow(fromMcpResult({ content: [item["block"], text("kept")] }))
      const published = publishResult(result, tool)
      const parsed = CallToolResultSchema.safeParse(published)
      assert.isTrue(parsed.success, `${label}: ${JSON.stringify(published)}`)
      assert.include(JSON.stringify(parsed.data?.content), "kept", label)
    }
  })

  it("shows the error of a tool, not its structured content that clients check", () => {
    const error = { content: [text("disk full")], isError: true, structuredContent: { code: 5 } }
    assert.deepStrictEqual(publishResult(error as never, tool), { content: [text("disk full")], isError: true })
    assert.deepStrictEqual(publishResult({ ...error, content: [] } as never, tool), {
      content: [text('{"code":5}')],
      isError: true
    })
    assert.deepStrictEqual(publishResult(error as never, { ...tool, returnSchema: null }), error)
    assert.deepStrictEqual(publishResult({ ...error, isError: false } as never, tool), { ...error, isError: false })
  })
})

describe("parts that a message of the office may not hold", () => {
  const first = { type: "text", text: "first" }
  const deep = `${"[".repeat(400)}${"]".repeat(400)}`
  const fits = (result: JsonObject) => checkJsonBody([[[[result]]]])

  it.each([
    '{"type":"text","text":"odd","__proto__":1}',
    '{"type":"text","text":"odd","_meta":{"a":{"__proto__":{}}}}',
    `{"type":"text","text":"odd","_meta":{"a":${deep}}}`,
    `{"type":"resource","resource":{"uri":"x:y","text":"odd","_meta":{"a":[${deep}]}}}`
  ])("leave the result: %.70s", (block) => {
    const repaired = repairResult({ content: [first, JSON.parse(block) as unknown] })
    assert.isUndefined(fits(repaired))
    assert.deepInclude(repaired["content"], first)
    assert.include(JSON.stringify(repaired), "odd")
  })

  it.each(['{"a":1,"__proto__":2}', `{"a":1,"b":${deep}}`])("leave its structured content: %.40s", (text) => {
    const repaired = repairResult({ content: [first], structuredContent: JSON.parse(text) as unknown })
    assert.isUndefined(fits(repaired))
    assert.deepInclude(repaired["structuredContent"], { a: 1 })
  })
})

describe("repairResult without content", () => {
  it.each<readonly [object, ReadonlyArray<object>]>([
    [{ isError: true, message: "disk full" }, [text("disk full")]],
    [{ error: "disk full" }, [text("disk full")]],
    [{ content: [], isError: true, error: { message: "disk full" } }, [text('{"error":{"message":"disk full"}}')]],
    [{ toolResult: { a: 1 } }, [text('{"toolResult":{"a":1}}')]],
    [{ content: null, output: "a", took: 5 }, [text('{"output":"a","took":5}')]],
    [{ output: "a", structuredContent: { a: 1 } }, []],
    [{ content: [text("a")], output: "b" }, [text("a")]],
    [{ _meta: { a: 1 } }, []]
  ])("shows the members that MCP does not know, of %j", (result, content) => {
    assert.deepStrictEqual(repairResult({ ...result })["content"], content)
  })

  it.each(["weird", "complete", 5, null])("drops the result type %j, which newer clients may reject", (resultType) => {
    assert.notProperty(repairResult({ content: [], resultType }), "resultType")
  })
})
