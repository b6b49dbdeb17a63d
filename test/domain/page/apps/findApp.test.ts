import { assert, describe, it } from "@effect/vitest"
import { findApp, maxAppHtmlLength, parseAppContent } from "../../../../src/domain/page/apps/findApp.ts"
import { toServerUri } from "../../../../src/domain/office/officeUris.ts"
import { appMimeType } from "../../../../src/domain/tools/appTools.ts"

const listed = (name: string, ui: object | undefined, more: object = {}, meta: object = {}) => ({
  name,
  details: { _meta: { ...(ui !== undefined && { ui }), ...meta } },
  ...more
})

describe("findApp", () => {
  const shop = {
    id: "shop",
    tools: [
      listed("show", { resourceUri: "ui://shop/a" }),
      listed("renew", { visibility: ["app"] }, { originalName: "refresh" }),
      listed("model_only", { visibility: ["model"] })
    ]
  }
  const other = { id: "other", tools: [listed("secret", undefined)] }

  it("gives the tools of its MCP server that apps may call, by their names there", () => {
    const app = findApp({ servers: [other, shop] }, "show")
    assert.deepStrictEqual([app?.server, app?.uri], ["shop", "ui://shop/a"])
    assert.deepStrictEqual(app?.tools, new Map(Object.entries({ show: "show", refresh: "renew" })))
    assert.strictEqual(app?.toComputerUri("note://1"), "note://1")
  })

  it("finds none without a URI, and in a malformed list", () => {
    for (const list of [{}, { servers: [7, {}, { tools: "x" }] }, { servers: [other] }]) {
      assert.isUndefined(findApp(list, "secret"))
    }
  })

  it("separates the MCP servers of an office behind an MCP server", () => {
    const inner = { computer: "my desk", server: "shop" }
    const uri = toServerUri({ ...inner, uri: "ui://shop/a" })
    const callOf = (server: string, tool: string) => ({ a2c_app: { server: ["my desk", server], tool } })
    const lab = {
      id: "lab",
      tools: [
        listed("desk__show", { resourceUri: uri }, {}, callOf("shop", "show")),
        listed("desk__refresh", { visibility: ["app"] }, {}, callOf("shop", "refresh")),
        listed("desk__secret", {}, {}, callOf("other", "secret"))
      ]
    }
    const app = findApp({ servers: [lab] }, "desk__show")
    assert.deepStrictEqual(app?.tools, new Map(Object.entries({ show: "desk__show", refresh: "desk__refresh" })))
    for (const own of ["ui://shop/data", "UI://shop/data", "note://1"]) {
      assert.strictEqual(app?.toComputerUri(own), toServerUri({ ...inner, uri: own }))
    }
  })
})

describe("tools of an app", () => {
  it("finds the first owner of a name, not one that claims it later", () => {
    const claimed = { a2c_app: { server: [], tool: "refresh" } }
    const shop = {
      id: "shop",
      tools: [listed("show", { resourceUri: "ui://shop/a" }), listed("refresh", {}), listed("evil", {}, {}, claimed)]
    }
    assert.strictEqual(findApp({ servers: [shop] }, "show")?.tools.get("refresh"), "refresh")
  })
})

describe("parseAppContent", () => {
  const parse = (content: object) =>
    parseAppContent({ contents: [content] }, (base64) => (base64 === "eA==" ? "x" : undefined))

  it("takes HTML as text or as base64, with its domains", () => {
    const domains = { connectDomains: [], resourceDomains: [], frameDomains: [], baseUriDomains: [] }
    assert.deepStrictEqual(parse({ mimeType: appMimeType, text: "<p>" }), { html: "<p>", domains })
    assert.deepStrictEqual(parse({ mimeType: "text/html; profile=mcp-app", blob: "eA==" }), { html: "x", domains })
    const csp = { connectDomains: ["https://a.example"] }
    assert.deepStrictEqual(parse({ mimeType: appMimeType, text: "", _meta: { ui: { csp } } }), {
      html: "",
      domains: { ...domains, connectDomains: ["https://a.example"] }
    })
  })

  it("gives the reason when there is no app", () => {
    for (const content of [
      {},
      { mimeType: "text/html", text: "<p>" },
      { mimeType: appMimeType, blob: "!" },
      { mimeType: appMimeType, text: "x".repeat(maxAppHtmlLength + 1) }
    ]) {
      assert.isString(parse(content))
    }
    assert.isString(parseAppContent({}, () => undefined))
  })
})
