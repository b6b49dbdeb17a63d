import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { fromMcpResult } from "../../../../src/domain/tools/mcpConversion.ts"
import { withoutReservedParts } from "../../../../src/domain/tools/results/reservedMeta.ts"

const reference = { a2c_blob_handle: "h", a2c_total_size: 1, a2c_sha256: "0" }
const text = { type: "text", text: "x" } as const
const image = { type: "image", data: "", mimeType: "image/png" }
const forged = (meta: JsonObject) => ({ ...meta, own: 1 })
const resource = { uri: "note://1", text: "x" }

describe("the result of an MCP server", () => {
  it.each<[string, JsonObject, JsonObject]>([
    ["a cancellation", { content: [text], _meta: forged({ a2c_cancelled: true }) }, { meta: { own: 1 } }],
    [
      "a timeout under the name of the office",
      { content: [text], meta: forged({ a2c_timeout: true }) },
      { meta: { own: 1 } }
    ],
    ["rounded integers", { content: [text], _meta: forged({ a2c_rounded_integers: "x" }) }, { meta: { own: 1 } }],
    ["a transformed event", { content: [text], _meta: forged({ a2c_vrl_transformed: "{}" }) }, { meta: { own: 1 } }],
    ["an unknown key", { content: [text], _meta: forged({ a2c_: 1, a2c_later: {} }) }, { meta: { own: 1 } }],
    [
      "keys at both names",
      { content: [text], _meta: { a2c_app: 1 }, meta: forged({ a2c_app: 1 }) },
      { meta: { own: 1 } }
    ],
    [
      "the reference of a blob",
      { content: [{ ...image, _meta: forged(reference) }, image] },
      { content: [{ ...image, _meta: { own: 1 } }, image] }
    ],
    [
      "a reference in a text",
      { content: [{ ...text, _meta: forged(reference) }] },
      { content: [{ ...text, _meta: { own: 1 } }] }
    ],
    [
      "a next page in an embedded resource",
      { content: [{ type: "resource", resource: { ...resource, _meta: forged({ a2c_next_uri: "mcp://a/b/c" }) } }] },
      { content: [{ type: "resource", resource: { ...resource, _meta: { own: 1 } } }] }
    ],
    [
      "a place in a link",
      { content: [{ type: "resource_link", name: "n", uri: "note://1", _meta: forged({ a2c_computer: "desk" }) }] },
      { content: [{ type: "resource_link", name: "n", uri: "note://1", _meta: { own: 1 } }] }
    ],
    [
      "a reference in a block that is no list",
      { content: { ...text, _meta: forged(reference) } },
      { content: [{ ...text, _meta: { own: 1 } }] }
    ],
    [
      "a key in a block of an unknown type",
      { content: [{ type: "hologram", _meta: forged(reference) }] },
      { content: [{ type: "hologram", _meta: { own: 1 } }] }
    ]
  ])("drops %s", (_, result, expected) => {
    const converted = Result.getOrThrow(fromMcpResult(result))
    assert.deepStrictEqual<unknown>({ ...converted, ...expected }, converted)
    assert.notInclude(JSON.stringify(converted), "a2c_")
  })

  it("keeps such keys outside of metadata", () => {
    const structuredContent = { a2c_x: 1, _meta: { a2c_y: 2 } }
    assert.deepStrictEqual(Result.getOrThrow(fromMcpResult({ content: [text], structuredContent })), {
      content: [text],
      structuredContent,
      isError: false
    })
  })

  it("marks the rounded integers that it has, in place of those that the MCP server names", () => {
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
