import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { allAppDomains, formatAppPolicy, parseAppDomains } from "../../../../src/domain/page/apps/appDomains.ts"

const page = "https://office.example"

describe("list of domains of an app", () => {
  it("consists of encrypted origins of the internet", () => {
    const permitted = ["https://api.example.org", "https://*.example.org:8443", "wss://a-b.example"]
    const refused = [
      "*",
      "https:",
      "https://*",
      "https://*.org",
      "http://example.org",
      "https://localhost",
      "https://127.0.0.1",
      "https://[::1]",
      "https://example.org/path",
      "https://user@example.org",
      "https://example.org; script-src *",
      "https://example.org 'unsafe-eval'",
      "'self'",
      "data:",
      "blob:",
      `https://${"a".repeat(120)}.org`,
      7,
      null
    ]
    const { connectDomains } = parseAppDomains({ connectDomains: [...permitted, ...refused] })
    assert.deepStrictEqual(connectDomains, permitted)
  })

  it("is bounded", () => {
    const many = Array.from({ length: 100 }, (_, index) => `https://a${index}.example`)
    assert.strictEqual(parseAppDomains({ frameDomains: many }).frameDomains.length, 20)
  })

  it.prop("holds nothing that ends a directive, with any metadata", [Schema.Json], ([value]) => {
    const domains = allAppDomains(parseAppDomains({ connectDomains: value, frameDomains: [value] }))
    assert.deepStrictEqual(
      domains.filter((domain) => /[\s;,']/.test(domain)),
      []
    )
  })
})

describe("policy of an app", () => {
  it("permits no host by default", () => {
    assert.strictEqual(
      formatAppPolicy(parseAppDomains(undefined), page),
      "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; " +
        "media-src data: blob:; connect-src 'none'; frame-src 'none'; base-uri 'none'; object-src 'none'; " +
        "form-action 'none'; frame-ancestors https://office.example"
    )
  })

  it("permits each kind of domain for its purpose", () => {
    const policy = formatAppPolicy(
      parseAppDomains({
        connectDomains: ["https://c.example"],
        resourceDomains: ["https://r.example"],
        frameDomains: ["https://f.example"],
        baseUriDomains: ["https://b.example"]
      }),
      page
    )
    const sources = new Map(
      policy.split("; ").map((directive) => [directive.split(" ")[0], directive.split(" ").slice(1)])
    )
    assert.deepStrictEqual(sources.get("connect-src"), ["https://c.example"])
    assert.deepStrictEqual(sources.get("frame-src"), ["https://f.example"])
    assert.deepStrictEqual(sources.get("base-uri"), ["https://b.example"])
    for (const name of ["script-src", "style-src", "img-src", "font-src", "media-src"]) {
      assert.include(sources.get(name)?.join(" "), "https://r.example")
    }
  })
})
