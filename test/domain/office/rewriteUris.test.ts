import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { asObject } from "../../../src/domain/json.ts"
import { withOfficeApp, withOfficeUris } from "../../../src/domain/office/rewriteUris.ts"
import { parseServerUri, toServerUri } from "../../../src/domain/office/officeUris.ts"
import { appUriOf } from "../../../src/domain/tools/appTools.ts"

const Name = Schema.NonEmptyString.check(Schema.makeFilter((name) => name.isWellFormed()))
const Place = Schema.Struct({ computer: Name, server: Name })
const Uri = Schema.Union([
  Schema.String,
  Schema.TemplateLiteral([Schema.Literals(["ui", "UI", "Ui"]), "://", Schema.String])
])

describe("URI of a resource of an MCP server", () => {
  it.prop("is restored in an office", [Place, Uri], ([place, uri]) => {
    assert.deepStrictEqual(parseServerUri(toServerUri({ ...place, uri }), [place.computer]), { ...place, uri })
  })

  it.prop("is restored level by level in offices inside an office", [Place, Place, Uri], ([inner, outer, uri]) => {
    const outside = toServerUri({ ...outer, uri: toServerUri({ ...inner, uri }) })
    const between = parseServerUri(outside, [outer.computer])
    assert.deepStrictEqual(between?.server, outer.server)
    assert.deepStrictEqual(parseServerUri(between?.uri ?? "", [inner.computer]), { ...inner, uri })
  })

  it("keeps the scheme of apps and no other", () => {
    const inOffice = (uri: string) => toServerUri({ computer: "desk", server: "draw", uri })
    assert.strictEqual(inOffice("ui://form/a?b#c"), "ui://desk/draw/form/a?b#c")
    for (const scheme of ["UI", "Ui", "uI"]) {
      assert.strictEqual(inOffice(`${scheme}://form`), `${scheme}://desk/draw/form`)
    }
    assert.strictEqual(inOffice("note://7"), "mcp://desk/draw/note://7")
  })
})

describe("URI of an app in a tool or result", () => {
  const place = { computer: "desk", server: "draw" }

  it("becomes one of the office, in both forms of a tool's metadata", () => {
    const { _meta } = withOfficeApp({ name: "a", _meta: { ui: { resourceUri: "ui://a", visibility: ["app"] } } }, place)
    assert.deepStrictEqual(_meta, { ui: { resourceUri: "ui://desk/draw/a", visibility: ["app"] } })
    const flat = withOfficeApp({ _meta: { "ui/resourceUri": "ui://a" } }, place)
    assert.strictEqual(appUriOf(asObject(flat["_meta"])), "ui://desk/draw/a")
  })

  it("becomes one of the office in links, embedded resources and metadata of results", () => {
    const link = { type: "resource_link", uri: "ui://a", name: "A", extra: 1 }
    const embedded = { type: "resource", resource: { uri: "ui://a", text: "<p>" } }
    const result = withOfficeUris(
      { content: [link, embedded], _meta: { ui: { resourceUri: "ui://a" } }, structuredContent: { uri: "ui://a" } },
      place
    )
    const uri = "ui://desk/draw/a"
    assert.deepStrictEqual(result, {
      content: [
        { ...link, uri },
        { ...embedded, resource: { uri, text: "<p>" } }
      ],
      _meta: { ui: { resourceUri: uri } },
      structuredContent: { uri: "ui://a" }
    })
  })

  it("leads windows, documents and resources in results to the office, and leaves web addresses", () => {
    const uris = [
      ["note://7", "mcp://desk/draw/note://7"],
      ["window://app/notes", "window://desk.app/notes"],
      ["dpe://host/doc", "dpe://desk.host/doc"],
      ["file:///a", "mcp://desk/draw/file:///a"],
      ["https://a.example/x", "https://a.example/x"],
      ["data:text/plain,x", "data:text/plain,x"],
      ["a relative text", "a relative text"]
    ] as const
    const content = uris.map(([uri]) => ({ type: "resource_link", uri }))
    assert.deepStrictEqual(withOfficeUris({ content }, place), {
      content: uris.map(([, uri]) => ({ type: "resource_link", uri }))
    })
  })

  it("leads the app of a block of a result to the office", () => {
    const block = { type: "text", text: "ui://form" }
    assert.deepStrictEqual(
      withOfficeUris({ content: [{ ...block, _meta: { ui: { resourceUri: "ui://form" } } }] }, place),
      {
        content: [{ ...block, _meta: { ui: { resourceUri: "ui://desk/draw/form" } } }]
      }
    )
  })

  it("stays as it is when it is no text", () => {
    const result = { content: [{ type: "resource_link", uri: 7 }], _meta: { ui: { resourceUri: 7 } } }
    assert.deepStrictEqual(withOfficeUris(result, place), result)
    assert.deepStrictEqual(withOfficeApp({ _meta: { ui: { resourceUri: "note://1" } } }, place), {
      _meta: { ui: { resourceUri: "note://1" } }
    })
  })

  it.prop("changes alone", [Schema.Json], ([value]) => {
    const result = {
      content: [{ type: "resource_link", uri: "https://a.example" }, { type: "text", text: value }, value],
      structuredContent: value,
      _meta: { ui: value, other: value }
    }
    const other = { content: value, _meta: value }
    for (const one of [result, other]) {
      if (JSON.stringify(one).includes("ui://")) continue
      assert.deepStrictEqual(withOfficeUris(one, place), one)
      assert.deepStrictEqual(withOfficeApp(one, place), one)
    }
  })
})
