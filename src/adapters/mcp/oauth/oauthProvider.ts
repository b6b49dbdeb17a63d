import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js"
import {
  OAuthClientInformationFullSchema,
  type OAuthClientInformationMixed,
  OAuthClientInformationSchema,
  type OAuthTokens,
  OAuthTokensSchema
} from "@modelcontextprotocol/sdk/shared/auth.js"
import { Effect, Option, Redacted } from "effect"
import { z } from "zod"
import { asObject, parseJson } from "../../../domain/json.ts"
import type { RedirectListener } from "./RedirectListener.ts"
import type { CredentialStore } from "../../../application/ports/CredentialStore.ts"
import { sessionError } from "../sessionError.ts"

/** The state of one OAuth flow, which the SDK mutates. */
export interface OAuthFlowState {
  discovery: OAuthDiscoveryState | undefined
  /** The authorization server announces `iss` in its responses. */
  sendsIssuer: boolean
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

/** The SDK appends a slash to the origin of an MCP server that names no authorization server. */
const isSameIssuer = (issuer: string, url: string): boolean => issuer === url || `${issuer}/` === url

export const isAuthServerMetadata = (target: string | URL): boolean =>
  /\/\.well-known\/(oauth-authorization-server|openid-configuration)/.test(String(target))

/** Whether metadata announces `iss` in responses (RFC 9207 §3). The SDK drops this from metadata of OpenID Connect. */
export const announcesIssuer = (metadata: string): boolean =>
  asObject(parseJson(metadata))["authorization_response_iss_parameter_supported"] === true

/** RFC 8414 §3.3: without this check, metadata could name the issuer of another server, and its `iss` would pass. */
export const checkMetadataIssuer = ({
  authorizationServerMetadata: metadata,
  authorizationServerUrl
}: OAuthDiscoveryState) => {
  if (metadata === undefined || isSameIssuer(metadata.issuer, authorizationServerUrl)) return
  throw new Error("Incompatible auth server: its metadata names another issuer")
}

/**
 * Checks the `iss` parameter of an authorization response (RFC 9207 §2.4): a response of another server would send its code
 * to this one. It is required when the metadata says that the server sends it.
 */
export const isExpectedIssuer = (
  iss: string | undefined,
  { discovery, sendsIssuer }: Pick<OAuthFlowState, "discovery" | "sendsIssuer">
): boolean => {
  if (iss === undefined) return !sendsIssuer
  const metadata = discovery?.authorizationServerMetadata
  return metadata === undefined
    ? discovery !== undefined && isSameIssuer(iss, discovery.authorizationServerUrl)
    : iss === metadata.issuer
}

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

export interface OAuthCredentials {
  readonly client: OAuthClientInformationMixed | undefined
  readonly tokens: OAuthTokens | undefined
}

export const noCredentials: OAuthCredentials = { client: undefined, tokens: undefined }

const StoredCredentials = z.object({
  url: z.string(),
  client: z.union([OAuthClientInformationFullSchema, OAuthClientInformationSchema]).optional(),
  tokens: OAuthTokensSchema.optional()
})

const decodeCredentials = (text: string, url: string): Option.Option<OAuthCredentials> =>
  Option.map(
    Option.fromUndefinedOr(StoredCredentials.safeParse(parseJson(text)).data),
    ({ client, tokens, url: owner }) => (owner === url ? { client, tokens } : noCredentials)
  )

/** Bound to name and URL: a changed URL must not receive tokens of the former. Both members fail with `unavailable`. */
export const makeOAuthCredentialStore = (store: CredentialStore["Service"], server: string, { href: url }: URL) => {
  const toUnavailable = ({ message }: { readonly message: string }) => sessionError("unavailable", message)
  const unreadable = `stored credentials of "${server}" are invalid: remove them to authorize again`
  return {
    read: Effect.flatMap(
      Effect.mapError(store.read(server), toUnavailable),
      Option.match({
        onNone: () => Effect.succeed(noCredentials),
        onSome: (stored) =>
          Effect.mapError(Effect.fromOption(decodeCredentials(Redacted.value(stored), url)), () =>
            sessionError("unavailable", unreadable)
          )
      })
    ),
    write: ({ client, tokens }: OAuthCredentials) =>
      Effect.mapError(
        client === undefined && tokens === undefined
          ? store.remove(server)
          : store.write(server, Redacted.make(JSON.stringify({ url, client, tokens }))),
        toUnavailable
      )
  }
}

export type OAuthCredentialStore = ReturnType<typeof makeOAuthCredentialStore>
