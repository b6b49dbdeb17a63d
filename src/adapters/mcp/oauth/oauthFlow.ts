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

/** What a 401 tells about how to authorize. */
export type Challenge = ReturnType<typeof extractWWWAuthenticateParams>

/** What is known in one conversation with an authorization server; the SDK changes it as it goes. */
export interface OAuthFlowState {
  client: OAuthClientInformationMixed | undefined
  tokens: OAuthTokens | undefined
  /** Where somebody is to be asked. */
  authorizationUrl: URL | undefined
}

/** How long an authorization server may take for one answer, in milliseconds. */
const requestTimeout = 10_000

/** Largest answer of an authorization server, in bytes: what it says of itself, and tokens, are a few thousand. */
const maxResponseBytes = 1024 * 1024

/** The same response, which fails to be read where it is too large. */
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

/** The SDK takes a provider without a redirect URL for one that needs no person at all. */
const placeholderRedirectUrl = "http://127.0.0.1/callback"

/** What the SDK converses with. It registers us, and asks for a state, only where somebody can be asked. */
export const makeOAuthProvider = (
  flowState: OAuthFlowState,
  redirect?: RedirectListener
): OAuthClientProvider => {
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
      // A program on a person's own machine can keep no secret of its maker (RFC 8252 §8.5).
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
    // The code goes to the authorization server that gave it, whatever the MCP server names by then.
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

/** Only words of the SDK's own are quoted: what authorization servers say may hold what they were sent. */
const toAuthServerFailure = (error: unknown): McpSessionError => {
  const why = error instanceof Error ? /^Incompatible auth server: (.*)$/.exec(error.message)?.[1] : undefined
  const detail = why === undefined ? "" : `: ${why}`
  return sessionError("unauthorized", `its authorization server rejected the request${detail}`)
}

/** What a conversation is about. */
export interface OAuthFlowOptions {
  readonly provider: OAuthClientProvider
  readonly url: URL
  readonly challenge: Challenge
  /** What somebody who was asked has brought back. */
  readonly code?: string
}

/**
 * Converses with the authorization server of an MCP server: renews tokens, or finds out where to ask somebody, or
 * exchanges a code. Fails with `unavailable` when it does not answer, and with `unauthorized` when it says no. Cannot
 * be interrupted, since the answer may hold the only valid refresh token; every request in it has a time limit.
 */
export const runOAuthFlow = ({
  challenge: { resourceMetadataUrl, scope },
  code,
  provider,
  url
}: OAuthFlowOptions): Effect.Effect<AuthResult, McpSessionError> =>
  Effect.suspend(() => {
    /** The last request was not answered. The SDK itself keeps some of these failures to itself. */
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
