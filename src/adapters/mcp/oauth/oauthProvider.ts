import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js"
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js"
import { checkMetadataIssuer, type IssuerState } from "./issuer.ts"
import type { OAuthCredentials } from "./OAuthCredentialStore.ts"
import type { RedirectListener } from "./RedirectListener.ts"

/** The state of one OAuth flow, which the SDK mutates. */
export interface OAuthFlowState extends IssuerState {
  client: OAuthClientInformationMixed | undefined
  tokens: OAuthTokens | undefined
  authorizationUrl: URL | undefined
}

export const newFlowState = (credentials: OAuthCredentials): OAuthFlowState => ({
  ...credentials,
  authorizationUrl: undefined,
  discovery: undefined,
  sendsIssuer: false
})

/** Without a redirect URL the SDK would assume a non-interactive grant. */
const placeholderRedirectUrl = "http://127.0.0.1/callback"

/** The provider that the SDK calls. Only interactive flows register a client. */
export const makeOAuthProvider = (flowState: OAuthFlowState, redirect?: RedirectListener): OAuthClientProvider => {
  const redirectUrl = redirect?.url ?? placeholderRedirectUrl
  let verifier = ""
  return {
    redirectUrl,
    clientMetadata: {
      client_name: "a2c-smcp",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      // Native apps cannot keep a client secret (RFC 8252 §8.5).
      token_endpoint_auth_method: "none"
    },
    clientInformation: () => flowState.client,
    ...(redirect !== undefined && {
      state: () => redirect.state,
      saveClientInformation: (client) => void (flowState.client = client)
    }),
    tokens: () => flowState.tokens,
    saveTokens: (tokens) => void (flowState.tokens = tokens),
    redirectToAuthorization: (url) => void (flowState.authorizationUrl = url),
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier,
    // The code goes to the server that issued it, even if the MCP server names another one meanwhile.
    discoveryState: () => flowState.discovery,
    saveDiscoveryState: (found) => {
      checkMetadataIssuer(found)
      flowState.discovery = found
    },
    invalidateCredentials: (what) => {
      if (what === "all" || what === "client") flowState.client = undefined
      if (what === "all" || what === "tokens") flowState.tokens = undefined
    }
  }
}
