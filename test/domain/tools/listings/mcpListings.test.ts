import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import {
  type ListName,
  repairDescription,
  repairListed,
  repairListing,
  reservedKeysOf,
  withoutReservedKeys
} from "../../../../src/domain/tools/listings/mcpListings.ts"
import { wholeItems } from "../../../application/bridge/listings/oddItems.ts"

const icon = { src: "https://a/i.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" }
const argument = { name: "city", description: "where", required: true }
const annotations = { audience: ["user"], priority: 0.5, lastModified: "2024-02-29T12:00:00+01:00" }
const { inputSchema: schema } = wholeItems.tools

const repaired = (list: ListName, item: unknown) => Result.getOrThrow(repairListed(list, item))

describe("repairListed", () => {
  it.each(["tools", "resources", "prompts"] as const)(
    "keeps a valid item of %s, with what MCP does not know",
    (list) => {
      const { outputSchema: _, ...whole } = { outputSchema: {}, ...wholeItems[list] }
      const { d: __, ...properties } = schema.properties
      const item = { ...whole, ...(list === "tools" && { inputSchema: { ...schema, properties } }), vendor: [null] }
      assert.deepStrictEqual(repaired(list, item), item)
    }
  )

  it.each([
    ["tools", "title", 7, undefined],
    ["tools", "title", null, undefined],
    ["tools", "description", {}, undefined],
    ["tools", "annotations", [], undefined],
    ["tools", "annotations", { title: 5, readOnlyHint: "yes", idempotentHint: true }, { idempotentHint: true }],
    ["tools", "execution", true, undefined],
    ["tools", "execution", { taskSupport: null, more: 1 }, { more: 1 }],
    ["tools", "_meta", "x", undefined],
    ["tools", "icons", [], []],
    ["tools", "icons", "x", undefined],
    ["tools", "icons", icon, [icon]],
    ["tools", "icons", [icon, 7, {}, { src: 7 }], [icon]],
    ["tools", "icons", [{ ...icon, theme: "sepia" }], undefined],
    ["tools", "icons", [{ ...icon, theme: null, mimeType: 7 }], [{ src: icon.src, sizes: icon.sizes }]],
    ["tools", "icons", [{ ...icon, sizes: "48x48" }], [icon]],
    ["tools", "icons", [{ ...icon, sizes: ["48x48", 48] }], [icon]],
    ["tools", "inputSchema", null, undefined],
    ["tools", "inputSchema", [], undefined],
    ["tools", "inputSchema", { type: null }, { type: "object" }],
    ["tools", "inputSchema", { type: ["object", "null"] }, { type: "object" }],
    ["tools", "inputSchema", { properties: [], required: null }, { properties: {} }],
    ["tools", "inputSchema", { required: "a" }, { required: ["a"] }],
    ["tools", "inputSchema", { required: ["a", 5] }, { required: ["a"] }],
    ["tools", "inputSchema", { properties: { a: null, b: true } }, { properties: { a: {}, b: {} } }],
    ["tools", "outputSchema", null, undefined],
    ["tools", "outputSchema", { type: "array" }, { type: "array" }],
    ["resources", "mimeType", 7, undefined],
    ["resources", "size", "3", 3],
    ["resources", "size", "large", undefined],
    ["resources", "size", null, undefined],
    ["resources", "name", 5, undefined],
    ["resources", "annotations", annotations, annotations],
    ["resources", "annotations", { audience: "user", priority: 2, lastModified: "yesterday" }, { audience: ["user"] }],
    ["resources", "annotations", { lastModified: "2025-02-29T00:00:00Z" }, {}],
    ["resources", "annotations", { lastModified: "2025-01-01T00:00Z" }, {}],
    ["resourceTemplates", "annotations", { audience: ["user", "cat"] }, { audience: ["user"] }],
    ["prompts", "arguments", [], []],
    ["prompts", "arguments", null, undefined],
    ["prompts", "arguments", [argument, {}, "a"], [argument]],
    ["prompts", "arguments", [{ ...argument, description: 7, required: "yes" }], [{ name: "city" }]]
  ] as const)("repairs a member of %s: %s %j becomes %j", (list, member, given, expected) => {
    const identity = {
      tools: { name: "a" },
      resources: { uri: "a" },
      resourceTemplates: { uriTemplate: "a" },
      prompts: { name: "a" }
    }[list]
    assert.deepStrictEqual(repaired(list, { ...identity, [member]: given })[member], expected)
  })

  it.each([
    ["tools", 7, { name: "", reason: "not an object" }],
    ["tools", { name: 7 }, { name: "", reason: "name: not a text" }],
    [
      "tools",
      { name: "a", inputSchema: { type: "array" } },
      { name: "a", reason: "inputSchema: its type is not object" }
    ],
    [
      "tools",
      { name: "a", inputSchema: { type: ["string"] } },
      { name: "a", reason: "inputSchema: its type is not object" }
    ],
    ["resources", { name: "a" }, { name: "", reason: "uri: not a text" }],
    ["resourceTemplates", { uriTemplate: {} }, { name: "", reason: "uriTemplate: not a text" }],
    ["prompts", { name: null }, { name: "", reason: "name: not a text" }]
  ] as const)("leaves out an item of %s: %j", (list, item, omitted) => {
    assert.deepStrictEqual(repairListed(list, item), Result.fail(omitted))
    assert.deepStrictEqual(repairListing(list, [item]), { items: [], omitted: [omitted], rounded: [] })
  })

  it("leaves out an item that no message can hold", () => {
    let deep: unknown = 1
    for (let level = 0; level < 200; level++) deep = [deep]
    assert.include(Result.getOrThrow(Result.flip(repairListed("tools", { name: "a", deep }))).reason, "nested deeper")
  })
})

describe("withoutReservedKeys", () => {
  const meta = { a2c_app: 1, a2c_computer: 2, a2c_tool_meta: 3, mine: 4 }

  it("leaves out the keys of this project in the metadata of listed items", () => {
    const items = [{ name: "a", _meta: meta }]
    assert.deepStrictEqual(repairListing("prompts", items).items, [{ name: "a", _meta: { mine: 4 } }])
  })

  it("keeps keys that have a meaning", () => {
    assert.deepStrictEqual(withoutReservedKeys(meta, reservedKeysOf("draw")), { a2c_tool_meta: 3, mine: 4 })
    assert.deepStrictEqual(withoutReservedKeys(meta, reservedKeysOf("a2c-office-O1")), meta)
  })
})

describe("repairDescription", () => {
  const whole = {
    protocolVersion: "2025-06-18",
    capabilities: { tools: { listChanged: true }, experimental: { x: { deep: null } }, vendor: [null] },
    serverInfo: { name: "odd", version: "1", vendor: null },
    instructions: "read first"
  }

  it("keeps a valid description, with what MCP does not know", () => {
    assert.deepStrictEqual(repairDescription(whole), whole)
  })

  it.each<readonly [unknown, unknown]>([
    [undefined, { tools: {} }],
    [null, { tools: {} }],
    [[], {}],
    [{ tools: [] }, { tools: {} }],
    [{ tools: true, prompts: false, logging: null }, { tools: {} }],
    [
      { tools: { listChanged: "true" }, resources: { subscribe: 1, listChanged: "false" } },
      { tools: { listChanged: true }, resources: { listChanged: false } }
    ],
    [
      { completions: [], experimental: [], extensions: { a: true, b: null } },
      { completions: {}, experimental: {}, extensions: { a: {} } }
    ],
    [
      { tasks: { list: [], requests: { tools: { call: true } } } },
      { tasks: { list: {}, requests: { tools: { call: {} } } } }
    ]
  ])("takes the capabilities %j as %j", (capabilities, expected) => {
    assert.deepStrictEqual(repairDescription({ ...whole, capabilities }).capabilities, expected)
  })

  it.each<readonly [unknown, unknown]>([
    [undefined, { name: "unknown", version: "unknown" }],
    [[], { name: "unknown", version: "unknown" }],
    ["notes", { name: "notes", version: "unknown" }],
    [{ name: "notes" }, { name: "notes", version: "unknown" }],
    [
      { name: null, version: 1.2 },
      { name: "unknown", version: "1.2" }
    ],
    [
      { name: "notes", version: "1", title: 5, websiteUrl: [], icons: "x" },
      { name: "notes", version: "1" }
    ]
  ])("takes the server information %j as %j", (serverInfo, expected) => {
    assert.deepStrictEqual(repairDescription({ ...whole, serverInfo })["serverInfo"], expected)
  })

  it.each([[undefined], [null], [20250618], [{}]])(
    "assumes the revision of MCP for the version %j",
    (protocolVersion) => {
      assert.strictEqual(repairDescription({ ...whole, protocolVersion })["protocolVersion"], "2025-03-26")
    }
  )

  it.each([[null], [5], [["a"]]])("drops the instructions %j", (instructions) => {
    assert.notProperty(repairDescription({ ...whole, instructions }), "instructions")
  })

  it("adds no revision and no server to the description of the newer handshake", () => {
    assert.deepStrictEqual(repairDescription({ supportedVersions: ["2026-07-28"], capabilities: { tools: [] } }), {
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: {} }
    })
  })
})
