import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { parseComputerConfig } from "../../../src/domain/config/parseConfig.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { buildCatalogue, type ServerTools } from "../../../src/domain/tools/catalogue.ts"

const server = (name: string, tools: ReadonlyArray<string | JsonObject>, settings: object = {}): ServerTools => {
  const servers = { [name]: { type: "stdio", server_parameters: { command: "x" }, ...settings } }
  const config = Result.getOrThrow(parseComputerConfig({ servers })).servers[name]
  if (config === undefined) throw new Error("no such server")
  return { config, tools: tools.map((tool) => (typeof tool === "string" ? { name: tool } : tool)) }
}
const withAlias = (name: string, tool: string, alias: string) =>
  server(name, [tool], { tool_meta: { [tool]: { alias } } })
const owners = (...servers: ReadonlyArray<ServerTools>) =>
  Object.fromEntries(
    [...buildCatalogue(servers).entries].map(([name, entry]) => [name, `${entry.server}.${entry.originalName}`])
  )

const Servers = Schema.Array(
  Schema.Struct({
    tools: Schema.Array(Schema.Literals(["read", "write", "rm", "__proto__"])),
    forbidden: Schema.Array(Schema.Literals(["rm", "read", "r"])),
    alias: Schema.NullOr(Schema.Literals(["r", "write"]))
  })
)

describe("catalogue", () => {
  it.prop("offers every listed tool once, or hides it with a reason", [Servers], ([given]) => {
    const servers = given.map(({ alias, forbidden, tools }, index) =>
      server(`s${index}`, tools, { forbidden_tools: forbidden, tool_meta: { read: { alias } } })
    )
    const { entries, forbidden, hidden } = buildCatalogue(servers)
    const listed = servers.reduce((sum, { tools }) => sum + tools.length, 0)
    assert.strictEqual(entries.size + hidden.length, listed)
    for (const { server, originalName } of hidden.filter(({ reason }) => reason === "forbidden")) {
      assert.isFalse([...entries.values()].some((one) => one.server === server && one.originalName === originalName))
      assert.isTrue(forbidden.has(originalName))
    }
  })

  it("cases 178 and 179: fills missing parts with neutral values", () => {
    const entry = buildCatalogue([server("alpha", ["hello"])]).entries.get("hello")
    assert.deepStrictEqual(entry?.tool, {
      name: "hello",
      bundleId: "alpha",
      description: "",
      paramsSchema: {},
      returnSchema: null,
      meta: {}
    })
  })

  it("keeps the description and the schemas of a tool, and its settings in meta", () => {
    const listed = {
      name: "read",
      description: "Reads",
      inputSchema: { type: "object" },
      outputSchema: { type: "string" },
      annotations: { readOnlyHint: true },
      _meta: { team: "x" }
    }
    const entry = buildCatalogue([server("alpha", [listed])]).entries.get("read")
    assert.deepStrictEqual(entry?.tool, {
      name: "read",
      bundleId: "alpha",
      description: "Reads",
      paramsSchema: { type: "object" },
      returnSchema: { type: "string" },
      meta: { team: "x", MCP_TOOL_ANNOTATION: '{"readOnlyHint":true}' }
    })
  })

  it.each([
    [
      "case 180: distinguishes two tools with one name by an alias",
      [withAlias("alpha", "search", "web_search"), withAlias("beta", "search", "doc_search")],
      { web_search: "alpha.search", doc_search: "beta.search" }
    ],
    [
      "treats a duplicate alias as a conflict",
      [server("alpha", ["read"]), withAlias("beta", "scan", "read")],
      { read: "alpha.read" }
    ],
    [
      "offers a tool of another server when one is forbidden",
      [server("alpha", ["rm"], { forbidden_tools: ["rm"] }), server("beta", ["rm"])],
      { rm: "beta.rm" }
    ]
  ])("%s", (_, servers, expected) => {
    assert.deepStrictEqual(owners(...servers), expected)
  })

  it("case 182: gives the name to the first server without an alias", () => {
    const servers = [server("alpha", ["read"]), server("beta", ["read"])]
    assert.deepStrictEqual(owners(...servers), { read: "alpha.read" })
    assert.deepStrictEqual(buildCatalogue(servers).hidden, [
      { server: "beta", originalName: "read", name: "read", reason: "name_taken" }
    ])
  })

  it("cases 183 and 184: forbids a tool under both names when either is forbidden", () => {
    for (const name of ["rm", "remove"]) {
      const { entries, forbidden, hidden } = buildCatalogue([
        server("alpha", ["rm"], { tool_meta: { rm: { alias: "remove" } }, forbidden_tools: [name] })
      ])
      assert.strictEqual(entries.size, 0)
      assert.deepStrictEqual([...forbidden].sort(), ["remove", "rm"])
      assert.deepStrictEqual(hidden, [{ server: "alpha", originalName: "rm", name: "remove", reason: "forbidden" }])
    }
  })

  it("case 138: prefers the tool's own auto_apply to the default", () => {
    const settings = { default_tool_meta: { auto_apply: true }, tool_meta: { b: { auto_apply: false } } }
    const { entries } = buildCatalogue([server("alpha", ["a", "b"], settings)])
    const applied = [...entries].map(([name, { autoApply }]) => `${name} ${autoApply}`)
    assert.deepStrictEqual(applied, ["a true", "b false"])
  })

  it("hides a tool without a name", () => {
    assert.strictEqual(buildCatalogue([server("alpha", [{ name: 7 }])]).hidden[0]?.reason, "no_name")
  })
})
