import {
  auth,
  discoverOAuthServerInfo,
  type extractWWWAuthenticateParams,
  type OAuthClientProvider,
  type OAuthDiscoveryState
} from "@modelcontextprotocol/sdk/client/auth.js"
import {
  OAuthClientInformationFullSchema,
  type OAuthClientInformationMixed,
  OAuthClientInformationSchema,
  type OAuthTokens,
  OAuthTokensSchema
} from "@modelcontextprotocol/sdk/shared/auth.js"
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Effect, Option, Redacted } from "effect"
import * as z from "zod"
import type { CredentialStore } from "../../../application/ports/CredentialStore.ts"
import { type McpSessionError, sessionError } from "../../../application/ports/McpSession.ts"
import type { OAuthClientParameters } from "../../../domain/config/endpointParameters.ts"
import { asObject, parseJson } from "../../../domain/json.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { type AddressKind, addressKind, isLoopbackHost, mayName } from "../../http/hostAccess.ts"
import { type FetchPolicy, makeCheckedFetch, RequestForbidden } from "../../http/checkedFetch.ts"
import type { RedirectListener } from "./RedirectListener.ts"

/** A name alone does not show where a server is: its owner can change the address at any time. */
const kindOf = ({ hostname }: URL, address = ""): AddressKind =>
  addressKind(address) ?? addressKind(hostname) ?? (isLoopbackHost(hostname) ? "loopback" : "public")

/**
 * The policy for the URLs of an OAuth flow, which the MCP server and its authorization server name (MCP security best
 * practices, RFC 9728 §7.7). They use HTTPS, except on loopback and for the metadata of the MCP server itself, and lead to
 * public addresses or to the network of the MCP server.
 */
export const makeOAuthPolicy = (server: URL, serverAddress: string | undefined): FetchPolicy => {
  const serverKind = kindOf(server, serverAddress)
  return {
    checkUrl: (url, method) => {
      if (url.protocol === "https:") return undefined
      const isPlain = url.protocol === "http:"
      const isOwnMetadata = method === "GET" && url.origin === server.origin
      return isPlain && (isLoopbackHost(url.hostname) || isOwnMetadata) ? undefined : "https is required"
    },
    allowsAddress: (address, kind) => address === serverAddress || mayName(serverKind, kind)
  }
}

/** A request for authorization, or for more scopes. */
export interface Challenge extends ReturnType<typeof extractWWWAuthenticateParams> {
  /** The address of the server; `undefined` behind a proxy. */
  readonly serverAddress: string | undefined
}

/** The state of one OAuth flow, which the SDK mutates. */
export interface OAuthFlowState {
  discovery: OAuthDiscoveryState | undefined
  /** The authorization server announces `iss` in its responses. */
  sendsIssuer: boolean
  client: OAuthClientInformationMixed | undefined
  tokens: OAuthTokens | undefined
  authorizationUrl: URL | undefined
  /** The scopes that the flow requests; a token without a scope has them (RFC 6749 §5.1). */
  scope: string | undefined
}

/** What authorization servers know: a client ID metadata document, which some support, or a client of theirs. */
export interface OAuthClient {
  readonly clientMetadataUrl?: string | undefined
  readonly registered?: OAuthClientParameters | undefined
}

/** Whether a token lacks a scope (RFC 6750 §3.1). */
export const lacksScope = ({ error }: Challenge): boolean => error === "insufficient_scope"

/**
 * The scopes to request: those of the challenge, else all of the MCP server, and those that were granted before (SEP-2350).
 * `offline_access` is added where the authorization server knows it: some give refresh tokens only then (SEP-2207).
 */
const scopeToRequest = (
  challenged: string | undefined,
  { authorizationServerMetadata: metadata, resourceMetadata }: OAuthDiscoveryState,
  granted = ""
): string | undefined => {
  const wanted = challenged ?? resourceMetadata?.scopes_supported?.join(" ") ?? ""
  if (wanted === "") return undefined
  const offline = metadata?.scopes_supported?.includes("offline_access") === true ? " offline_access" : ""
  return [...new Set(`${granted} ${wanted}${offline}`.trim().split(/\s+/))].join(" ")
}

export type OAuthCredentials = Readonly<Pick<OAuthFlowState, "client" | "tokens">>

/** The SDK appends a slash to the origin of an MCP server that names no authorization server. */
const isSameIssuer = (issuer: string, url: string): boolean => issuer === url || `${issuer}/` === url

const isAuthServerMetadata = (target: string | URL): boolean =>
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

/** The provider that the SDK calls. Only interactive flows register a client, unless there is a registered one. */
export const makeOAuthProvider = (
  flowState: OAuthFlowState,
  redirect?: RedirectListener,
  { clientMetadataUrl, registered }: OAuthClient = {}
): OAuthClientProvider => {
  const redirectUrl = redirect?.url ?? placeholderRedirectUrl
  let verifier = ""
  // SEP-837: authorization servers may refuse loopback redirects of other types.
  const native = { application_type: "native" }
  return {
    redirectUrl,
    ...definedOnly({ clientMetadataUrl }),
    clientMetadata: {
      ...native,
      client_name: "a2c-smcp",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      // Native apps cannot keep a client secret (RFC 8252 §8.5).
      token_endpoint_auth_method: "none"
    },
    clientInformation: () => flowState.client,
    ...(redirect !== undefined && { state: () => redirect.state }),
    ...(redirect !== undefined &&
      registered === undefined && { saveClientInformation: (client) => void (flowState.client = client) }),
    tokens: () => flowState.tokens,
    saveTokens: (tokens) => void (flowState.tokens = { ...definedOnly({ scope: flowState.scope }), ...tokens }),
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
      if ((what === "all" || what === "client") && registered === undefined) flowState.client = undefined
      if (what === "all" || what === "tokens") flowState.tokens = undefined
    }
  }
}

export const noCredentials: OAuthCredentials = { client: undefined, tokens: undefined }

const StoredCredentials = z.object({
  url: z.string(),
  client: z.union([OAuthClientInformationFullSchema, OAuthClientInformationSchema]).optional(),
  tokens: OAuthTokensSchema.optional()
})

/**
 * Bound to name and URL: a changed URL must not receive tokens of the former. A registered client is bound to the
 * authorization server that accepted it first (SEP-2352), and its secret is not stored. Both members fail with `unavailable`.
 */
export const makeOAuthCredentialStore = (
  store: CredentialStore["Service"],
  server: string,
  { href: url }: URL,
  registered?: OAuthClientParameters
) => {
  const toUnavailable = ({ message }: { readonly message: string }) => sessionError("unavailable", message)
  const unreadable = `stored credentials of "${server}" are invalid: remove them to authorize again`
  const withRegistered = ({ client, tokens }: OAuthCredentials): OAuthCredentials => {
    if (registered === undefined) return { client, tokens }
    const { clientId: client_id, clientSecret: client_secret } = registered
    const issuer = client?.client_id === client_id ? client.issuer : undefined
    return { client: { client_id, ...definedOnly({ client_secret, issuer }) }, tokens }
  }
  return {
    read: Effect.gen(function* () {
      const stored = yield* Effect.mapError(store.read(server), toUnavailable)
      if (Option.isNone(stored)) return withRegistered(noCredentials)
      const { data } = StoredCredentials.safeParse(parseJson(Redacted.value(stored.value)))
      if (data === undefined) return yield* sessionError("unavailable", unreadable)
      return withRegistered(data.url === url ? { client: data.client, tokens: data.tokens } : noCredentials)
    }),
    write: ({ client: known, tokens }: OAuthCredentials) => {
      const client =
        registered === undefined ? known : { client_id: registered.clientId, issuer: tokens?.issuer ?? known?.issuer }
      return Effect.mapError(
        client === undefined && tokens === undefined
          ? store.remove(server)
          : store.write(server, Redacted.make(JSON.stringify({ url, client, tokens }))),
        toUnavailable
      )
    }
  }
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

const isUnavailable = ({ status }: Response): boolean => status >= 500 || status === 429 || status === 408

const authServerUnavailable = sessionError("unavailable", "its authorization server does not respond")

export const forbiddenUrl = (reason: string): McpSessionError =>
  sessionError("unauthorized", `its authorization needs a URL that this Computer does not open: ${reason}`)

/** Quotes only messages of the SDK. Those of the authorization server, whose errors have a code, may contain secrets. */
const toAuthServerFailure = (error: unknown): McpSessionError => {
  const message = error instanceof Error && !("errorCode" in error) ? error.message : ""
  const why = /^Incompatible auth server: (.*)$/.exec(message)?.[1]
  const detail = why === undefined ? "" : `: ${why}`
  return sessionError("unauthorized", `its authorization server rejected the request${detail}`)
}

interface OAuthFlowOptions {
  readonly url: URL
  readonly challenge: Challenge
  readonly credentials: OAuthCredentials
  readonly redirect?: RedirectListener
  readonly client?: OAuthClient
  readonly granted?: string | undefined
}

/**
 * Makes an OAuth flow. `run` runs one step of it, with a timeout for each request. It fails with `unavailable` without a
 * response, and with `unauthorized` after a rejection or a forbidden URL. It is uninterruptible: a response may contain the
 * only valid refresh token.
 */
export const makeOAuthFlow = ({ challenge, client = {}, credentials, granted, redirect, url }: OAuthFlowOptions) => {
  const state: OAuthFlowState = {
    ...credentials,
    authorizationUrl: undefined,
    discovery: undefined,
    scope: credentials.tokens?.scope,
    sendsIssuer: false
  }
  const provider = makeOAuthProvider(state, redirect, client)
  const { resourceMetadataUrl, serverAddress } = challenge
  /** Chooses the scopes before the SDK registers a client for them. */
  const chooseScope = async (fetchFn: FetchLike) => {
    const found = await discoverOAuthServerInfo(url, { fetchFn, ...definedOnly({ resourceMetadataUrl }) })
    await provider.saveDiscoveryState?.({
      ...found,
      ...definedOnly({ resourceMetadataUrl: resourceMetadataUrl?.href })
    })
    state.scope = scopeToRequest(challenge.scope, found, granted)
  }
  const policy = makeOAuthPolicy(url, serverAddress)
  const run = (code?: string) =>
    Effect.gen(function* () {
      const checkedFetch = yield* makeCheckedFetch(policy)
      /** The failure of the last request, or of a forbidden one. The SDK swallows some of them and tries other URLs. */
      let failure: McpSessionError | undefined
      const fetchFn: FetchLike = async (target, init) => {
        if (failure?.reason === "unauthorized") throw new Error(failure.message)
        failure = authServerUnavailable
        try {
          const response = await checkedFetch(target, { ...init, signal: AbortSignal.timeout(requestTimeout) })
          if (!isUnavailable(response)) failure = undefined
          const limited = limitResponseSize(response)
          if (!response.ok || !isAuthServerMetadata(target)) return limited
          const metadata = await limited.text()
          state.sendsIssuer = announcesIssuer(metadata)
          return new Response(metadata, limited)
        } catch (error) {
          if (error instanceof RequestForbidden) failure = forbiddenUrl(error.message)
          throw error
        }
      }
      const result = yield* Effect.tryPromise({
        try: async () => {
          if (redirect !== undefined && code === undefined) await chooseScope(fetchFn)
          const { scope } = state
          const optional = definedOnly({ resourceMetadataUrl, scope, authorizationCode: code })
          return auth(provider, { serverUrl: url, fetchFn, ...optional })
        },
        catch: (error) => failure ?? toAuthServerFailure(error)
      })
      return failure === undefined ? result : yield* failure
    }).pipe(Effect.scoped, Effect.uninterruptible)
  return { policy, state, run }
}
