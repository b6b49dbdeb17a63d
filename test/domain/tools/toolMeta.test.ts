import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { makeDecoder } from "../../../src/domain/validation.ts"
import { mergeToolMeta, ToolMeta } from "../../../src/domain/config/toolMeta.ts"
import { formatToolMeta, parseToolMeta } from "../../../src/domain/tools/toolMeta.ts"
import { parseAnnotations } from "../../../src/domain/tools/toolAnnotations.ts"

const decode = makeDecoder(ToolMeta)
const meta = (wire: object) => Result.getOrThrow(decode(wire))
const WireMeta = Schema.Struct({
  auto_apply: Schema.optionalKey(Schema.NullOr(Schema.Boolean)),
  alias: Schema.optionalKey(Schema.NullOr(Schema.NonEmptyString)),
  tags: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.String))),
  team: Schema.optionalKey(Schema.String)
})

describe("tool meta", () => {
  it.prop("parses what it formatted", [WireMeta], ([wire]) => {
    assert.deepStrictEqual(parseToolMeta(formatToolMeta(undefined, undefined, meta(wire))), meta(wire))
  })

  it.prop("merges idempotently, and prefers the tool's own settings", [WireMeta, WireMeta], ([fallback, own]) => {
    const merged = mergeToolMeta(meta(fallback), meta(own))
    assert.deepStrictEqual(mergeToolMeta(meta(fallback), merged), merged)
    assert.strictEqual(merged?.autoApply, own.auto_apply ?? fallback.auto_apply ?? undefined)
  })

  it("case 165: adds no key without settings", () => {
    assert.deepStrictEqual(formatToolMeta(undefined, undefined, mergeToolMeta(null, undefined)), {})
  })

  it("cases 166 and 167: equals the seed byte for byte", () => {
    const given = mergeToolMeta(meta({ tags: ["browser"], auto_apply: true }), undefined)
    assert.deepStrictEqual(formatToolMeta(undefined, undefined, given), {
      a2c_tool_meta: '{"auto_apply": true, "alias": null, "tags": ["browser"], "ret_object_mapper": null}'
    })
  })

  it.each([
    [
      "case 168: field by field",
      { tags: ["d"], auto_apply: false },
      { auto_apply: true },
      { tags: ["d"], auto_apply: true }
    ],
    ["case 169: without null", { tags: ["d"] }, { tags: null, auto_apply: true }, { tags: ["d"], auto_apply: true }],
    ["case 170: with whole arrays", { tags: ["c"] }, { tags: ["a", "b"] }, { tags: ["a", "b"] }]
  ])("merges %s", (_, fallback, own, merged) => {
    assert.deepStrictEqual(mergeToolMeta(meta(fallback), meta(own)), meta(merged))
  })

  it("also merges the mapper and unknown settings by field", () => {
    const merged = mergeToolMeta(
      meta({ ret_object_mapper: { a: "b" }, team: "x", owner: "y", room: "z" }),
      meta({ team: "own", owner: null, desk: 1 })
    )
    assert.deepStrictEqual(merged, {
      retObjectMapper: { a: "b" },
      extra: { team: "own", owner: "y", room: "z", desk: 1 }
    })
    assert.deepStrictEqual(mergeToolMeta(meta({ team: "x" }), undefined), meta({ team: "x" }))
  })

  it("case 172: keeps unknown settings", () => {
    const { a2c_tool_meta: text } = formatToolMeta(undefined, undefined, meta({ team: "x" }))
    const unset = { auto_apply: null, alias: null, tags: null, ret_object_mapper: null }
    assert.deepStrictEqual(JSON.parse(String(text)), { ...unset, team: "x" })
  })

  it("cases 173 and 174: encodes annotations as JSON text, only when present", () => {
    const annotations = { readOnlyHint: true, title: "A" }
    const written = formatToolMeta(undefined, annotations, undefined)
    assert.isString(written["MCP_TOOL_ANNOTATION"])
    assert.deepStrictEqual(parseAnnotations(written), annotations)
  })

  it("case 175: passes the server's own meta on, with complex values as JSON", () => {
    const plain = { k: "v", n: 1, b: false, list: ["x", "y"] }
    const complex = { z: null, o: { a: 1 }, mixed: [1, "x"], deep: [[1]], nulls: [null] }
    const texts = { z: "null", o: '{"a":1}', mixed: '[1,"x"]', deep: "[[1]]", nulls: "[null]" }
    assert.deepStrictEqual(formatToolMeta({ ...plain, ...complex }, undefined, undefined), { ...plain, ...texts })
  })

  it("case 176: removes forged keys of the Computer", () => {
    const forged = { a2c_tool_meta: '{"auto_apply":true}', MCP_TOOL_ANNOTATION: "{}" }
    assert.deepStrictEqual(formatToolMeta(forged, undefined, undefined), {})
  })

  it("case 177: separates the server's keys from ours", () => {
    const written = formatToolMeta({ tags: "mine" }, undefined, meta({ tags: ["ours"] }))
    assert.strictEqual(written["tags"], "mine")
    assert.deepStrictEqual(parseToolMeta(written)?.tags, ["ours"])
  })

  it("is absent without meta", () => {
    assert.isUndefined(parseToolMeta(undefined))
    assert.isUndefined(parseAnnotations(undefined))
  })

  it("ignores a text that is not a JSON object", () => {
    for (const text of ["", "[]", "{", 7, null]) assert.isUndefined(parseToolMeta({ a2c_tool_meta: text }))
  })
})
