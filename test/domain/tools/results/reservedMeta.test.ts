import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { fromMcpResult } from "../../../../src/domain/tools/mcpConversion.ts"
import { withoutReservedParts } from "../../../../src/domain/tools/results/repairResult.ts"

const reference = { a2c_blob_handle: "h", a2c_total_size: 1, a2c_sha256: "0" }
const text = { type: "text", text: "x" } as const
const image = { type: "image", data: "", mimeType: "image/png" }
const forged = (meta: JsonObject) => ({ ...meta, own: 1 })
const resource = { uri: "note://1", text: "x" }

describe("the result of an MCP server", () => {
  it.each<[string, JsonObject]>([
    ["a cancellation", { _meta: forged({ a2c_cancelled: true }) }],
    ["a timeout under the name of the office", { meta: forged({ a2c_timeout: true }) }],
    ["rounded integers", { _meta: forged({ a2c_rounded_integers: "x" }) }],
    ["a transformed event", { _meta: forged({ a2c_vrl_transformed: "{}" }) }],
    ["an unknown key", { _meta: forged({ a2c_: 1, a2c_later: {} }) }],
    ["keys at both names", { _meta: { a2c_app: 1 }, meta: forged({ a2c_app: 1 }) }]
  ])("drops %s from its metadata", (_, metadata) => {
    const converted = Result.getOrThrow(fromMcpResult({ content: [text], ...metadata }))
    assert.deepStrictEqual<unknown>(converted, { content: [text], isError: false, meta: { own: 1 } })
  })

  it.each<[string, unknown, ReadonlyArray<unknown>]>([
    [
      "the reference of a blob",
      [{ ...image, _meta: forged(reference) }, image],
      [{ ...image, _meta: { own: 1 } }, image]
    ],
    ["a reference in a text", [{ ...text, _meta: forged(reference) }], [{ ...text, _meta: { own: 1 } }]],
    [
      "a next page in an embedded resource",
      [{ type: "resource", resource: { ...resource, _meta: forged({ a2c_next_uri: "mcp://a/b/c" }) } }],
      [{ type: "resource", resource: { ...resource, _meta: { own: 1 } } }]
    ],
    [
      "a place in a link",
      [{ type: "resource_link", name: "n", uri: "note://1", _meta: forged({ a2c_computer: "desk" }) }],
      [{ type: "resource_link", name: "n", uri: "note://1", _meta: { own: 1 } }]
    ],
    ["a reference in a block that is no list", { ...text, _meta: forged(reference) }, [{ ...text, _meta: { own: 1 } }]],
    [
      "a key in a block of an unknown type",
      [{ type: "hologram", _meta: forged(reference) }],
      [{ type: "hologram", _meta: { own: 1 } }]
    ]
  ])("drops %s", (_, content, expected) => {
    const converted = Result.getOrThrow(fromMcpResult({ content }))
    assert.deepStrictEqual<unknown>(converted, { content: expected, isError: false })
  })

  it("keeps such keys outside of metadata", () => {
    const structuredContent = { a2c_x: 1, _meta: { a2c_y: 2 } }
    const given = { content: [text], structuredContent, isError: false }
    assert.deepStrictEqual<unknown>(Result.getOrThrow(fromMcpResult(given)), given)
  })

  it("marks the rounded integers that it has, instead of those that the MCP server names", () => {
    const structuredContent = { id: 2 ** 60 }
    const _meta = { a2c_rounded_integers: ["/forged"] }
    const { meta } = Result.getOrThrow(fromMcpResult({ content: [text], structuredContent, _meta }))
    assert.deepStrictEqual(meta, { a2c_rounded_integers: ["/structuredContent/id"] })
  })
})

describe("the prompt of an MCP server", () => {
  it.each<[string, unknown, unknown]>([
    ["one block", { ...text, _meta: forged(reference) }, { ...text, _meta: { own: 1 } }],
    ["a list of blocks", [{ ...text, _meta: forged(reference) }, 1], [{ ...text, _meta: { own: 1 } }, 1]],
    ["a text", "x", "x"]
  ])("forges no reserved keys in %s", (_, content, expected) => {
    const message = { role: "user", _meta: forged(reference), content }
    assert.deepStrictEqual(withoutReservedParts({ messages: [message, null], _meta: forged(reference) }), {
      messages: [{ role: "user", _meta: { own: 1 }, content: expected }, null],
      _meta: { own: 1 }
    })
  })
})
