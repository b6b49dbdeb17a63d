import type { OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js"
import { assert, describe, it } from "@effect/vitest"
import {
  announcesIssuer,
  checkMetadataIssuer,
  isExpectedIssuer,
  makeOAuthFlow,
  noCredentials
} from "../../../../src/adapters/mcp/oauth/oauthFlow.ts"

/** What discovery found: the URL of an authorization server, and the issuer of its metadata, if it has any. */
const discovered = (authorizationServerUrl: string, issuer?: string): OAuthDiscoveryState => ({
  authorizationServerUrl,
  ...(issuer !== undefined && {
    authorizationServerMetadata: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      response_types_supported: ["code"]
    }
  })
})

describe("the issuer in metadata", () => {
  const check = (url: string, issuer?: string) => () => checkMetadataIssuer(discovered(url, issuer))

  it("is not required", () => assert.doesNotThrow(check("https://id.example/")))

  it.each([
    ["https://id.example", "https://id.example"],
    ["https://id.example/", "https://id.example/"],
    ["https://id.example/", "https://id.example"],
    ["https://id.example/tenant", "https://id.example/tenant"]
  ])("is accepted at %s as %s", (url, issuer) => assert.doesNotThrow(check(url, issuer)))

  it.each([
    ["https://id.example", "https://id.example/"],
    ["https://id.example/", "https://id.example//"],
    ["https://id.example/", "https://ID.example"],
    ["https://id.example/", "http://id.example"],
    ["https://id.example/", "https://id.example:444"],
    ["https://id.example/", "https://id.example.evil.example"],
    ["https://id.example/tenant", "https://id.example"],
    ["https://id.example/tenant", "https://id.example/other"],
    ["https://id.example/", ""]
  ])("is rejected at %s as %s", (url, issuer) => assert.throws(check(url, issuer), "names another issuer"))
})

describe("the issuer in an authorization response", () => {
  const isExpected = (iss: string | undefined, discovery: OAuthDiscoveryState | undefined, sendsIssuer = false) =>
    isExpectedIssuer(iss, { discovery, sendsIssuer })

  it("is optional unless the metadata announces it", () => {
    assert.isTrue(isExpected(undefined, discovered("https://id.example/", "https://id.example")))
    assert.isFalse(isExpected(undefined, discovered("https://id.example/", "https://id.example"), true))
  })

  it("is optional in a new flow", () => {
    const url = new URL("https://mcp.example/mcp")
    const { state } = makeOAuthFlow({ url, challenge: { serverAddress: undefined }, credentials: noCredentials })
    assert.isTrue(isExpectedIssuer(undefined, state))
  })

  it("is rejected before discovery", () => assert.isFalse(isExpected("https://id.example", undefined)))

  it.each([
    ["https://id.example/", "https://id.example/", true],
    ["https://id.example/", "https://id.example", true],
    ["https://id.example", "https://id.example/", false],
    ["https://id.example/", "https://evil.example", false],
    ["https://id.example/", "https://id.example.evil.example", false],
    ["https://id.example/", "https://evil-id.example", false],
    ["https://id.example/", "", false]
  ] as const)("is compared with the URL %s of a server without metadata: is %s accepted: %s", (url, iss, accepted) =>
    assert.strictEqual(isExpected(iss, discovered(url)), accepted)
  )

  it.each([
    ["https://id.example", true],
    ["https://id.example/", false],
    ["https://id.example/issuer", false],
    ["https://id.example.evil.example", false],
    ["https://evil-id.example", false],
    ["https://evil.example", false],
    ["", false]
  ] as const)("equals the issuer of the metadata exactly: is %s accepted: %s", (iss, accepted) =>
    assert.strictEqual(isExpected(iss, discovered("https://id.example/", "https://id.example")), accepted)
  )

  it("is announced by metadata only as true", () => {
    const announces = (value: unknown) =>
      announcesIssuer(JSON.stringify({ authorization_response_iss_parameter_supported: value }))
    assert.deepStrictEqual([true, false, "true", 1].map(announces), [true, false, false, false])
    assert.isFalse(announcesIssuer("{}"))
    assert.isFalse(announcesIssuer("no JSON"))
  })
})
