import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeOAuthProvider, type OAuthFlowState } from "../../../../src/adapters/mcp/oauth/oauthFlow.ts"

const client = { client_id: "c" }
const tokens = { access_token: "a", token_type: "Bearer" }
const discovery = { authorizationServerUrl: "https://id.example/" }
const redirect = { url: "http://127.0.0.1:1/callback", state: "s", response: Effect.never }

const makeFlow = (listener?: typeof redirect) => {
  const flowState: OAuthFlowState = {
    client,
    tokens,
    authorizationUrl: undefined,
    discovery,
    scope: undefined,
    sendsIssuer: false
  }
  return { flowState, provider: makeOAuthProvider(flowState, listener) }
}

describe("OAuth provider", () => {
  it.each([
    ["all", undefined, undefined],
    ["client", undefined, tokens],
    ["tokens", client, undefined],
    ["verifier", client, tokens],
    ["discovery", client, tokens]
  ] as const)("invalidates %s and keeps the rest", async (scope, keptClient, keptTokens) => {
    const { flowState, provider } = makeFlow()
    await provider.invalidateCredentials?.(scope)
    assert.deepStrictEqual(flowState, {
      client: keptClient,
      tokens: keptTokens,
      authorizationUrl: undefined,
      discovery,
      scope: undefined,
      sendsIssuer: false
    })
  })

  it("registers a public client of the authorization code grant with refresh tokens", () =>
    assert.deepStrictEqual<object>(makeFlow(redirect).provider.clientMetadata, {
      client_name: "a2c-smcp",
      redirect_uris: [redirect.url],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
      application_type: "native"
    }))

  it("registers no client without interactive authorization", () =>
    assert.notProperty(makeFlow().provider, "saveClientInformation"))

  it("remembers the authorization server that it has found", async () => {
    const { flowState, provider } = makeFlow()
    const found = { authorizationServerUrl: "https://other.example/" }
    assert.strictEqual(provider.discoveryState?.(), discovery)
    await provider.saveDiscoveryState?.(found)
    assert.deepStrictEqual([provider.discoveryState?.(), flowState.discovery], [found, found])
  })

  it("forgets an authorization server whose metadata names another issuer", () => {
    const { provider } = makeFlow()
    const authorizationServerMetadata = {
      issuer: "https://honest.example",
      authorization_endpoint: "https://evil.example/authorize",
      token_endpoint: "https://evil.example/token",
      response_types_supported: ["code"]
    }
    const found = { authorizationServerUrl: "https://evil.example/", authorizationServerMetadata }
    assert.throws(() => provider.saveDiscoveryState?.(found), "names another issuer")
    assert.strictEqual(provider.discoveryState?.(), discovery)
  })
})
