import {
  auth,
  type AuthResult,
  type extractWWWAuthenticateParams,
  type OAuthClientProvider,
  type OAuthDiscoveryState
} from "@modelcontextprotocol/sdk/client/auth.js"
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js"
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Effect } from "effect"
import type { McpSessionError } from "../../../application/ports/McpSession.ts"
import { definedOnly } from "../../../domain/definedOnly.ts"
import { sessionError } from "../sessionError.ts"
import type { RedirectListener } from "./RedirectListener.ts"

export type Challenge = ReturnType<typeof extractWWWAuthenticateParams>

/** The state of one OAuth flow, which the SDK mutates. */
export interface OAuthFlowState {
  client: OAuthClientInformationMixed | undefined
  tokens: OAuthTokens | undefined
  authorizationUrl: URL | undefined
}

/** In milliseconds. */
const requestTimeout = 10_000

/** Largest response of an authorization server, in bytes. Metadata and tokens take a few thousand. */
const maxResponseBytes = 1024 * 1024

const limitResponseSize = (response: Response): Response => {
  if (response.body === null) return response
  let size = 0
  const body = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        size += chunk.byteLength
        if (size > maxResponseBytes) controller.error(new Error(`response exceeds ${maxResponseBytes} bytes`))
        else controller.enqueue(chunk)
      }
    })
  )
  return new Response(body, response)
}

/** Without a redirect URL the SDK would assume a non-interactive grant. */
const placeholderRedirectUrl = "http://127.0.0.1/callback"

/** The provider that the SDK calls. Only interactive flows register a client. */
export const makeOAuthProvider = (flowState: OAuthFlowState, redirect?: RedirectListener): OAuthClientProvider => {
  const redirectUrl = redirect?.url ?? placeholderRedirectUrl
  let verifier = ""
  let discovery: OAuthDiscoveryState | undefined
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
    discoveryState: () => discovery,
    saveDiscoveryState: (found) => void (discovery = found),
    invalidateCredentials: (what) => {
      if (what === "all" || what === "client") flowState.client = undefined
      if (what === "all" || what === "tokens") flowState.tokens = undefined
    }
  }
}

const isUnavailable = ({ status }: Response): boolean => status >= 500 || status === 429 || status === 408

const authServerUnavailable = sessionError("unavailable", "its authorization server does not respond")

/** Quotes only messages of the SDK: those of the authorization server may contain secrets. */
const toAuthServerFailure = (error: unknown): McpSessionError => {
  const why = error instanceof Error ? /^Incompatible auth server: (.*)$/.exec(error.message)?.[1] : undefined
  const detail = why === undefined ? "" : `: ${why}`
  return sessionError("unauthorized", `its authorization server rejected the request${detail}`)
}

/**
 * Runs one step of the OAuth flow, with a timeout for each request. Fails with `unavailable` without a response, and with
 * `unauthorized` after a rejection. Uninterruptible: a response may contain the only valid refresh token.
 */
export const runOAuthFlow = ({
  challenge: { resourceMetadataUrl, scope },
  code,
  provider,
  url
}: {
  readonly provider: OAuthClientProvider
  readonly url: URL
  readonly challenge: Challenge
  readonly code?: string
}): Effect.Effect<AuthResult, McpSessionError> =>
  Effect.suspend(() => {
    /** The last request failed. The SDK swallows some of these failures. */
    let lastRequestFailed = false
    const fetchFn: FetchLike = async (target, init) => {
      lastRequestFailed = true
      const response = await fetch(target, { ...init, signal: AbortSignal.timeout(requestTimeout) })
      lastRequestFailed = isUnavailable(response)
      return limitResponseSize(response)
    }
    return Effect.tryPromise({
      try: () =>
        auth(provider, {
          serverUrl: url,
          fetchFn,
          ...definedOnly({ resourceMetadataUrl, scope, authorizationCode: code })
        }),
      catch: (error) => (lastRequestFailed ? authServerUnavailable : toAuthServerFailure(error))
    }).pipe(
      Effect.filterOrFail(
        () => !lastRequestFailed,
        () => authServerUnavailable
      ),
      Effect.uninterruptible
    )
  })
