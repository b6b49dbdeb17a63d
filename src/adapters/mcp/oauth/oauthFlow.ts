import {
  auth,
  type AuthResult,
  type extractWWWAuthenticateParams,
  type OAuthClientProvider
} from "@modelcontextprotocol/sdk/client/auth.js"
import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Effect, type Scope } from "effect"
import type { McpSessionError } from "../../../application/ports/McpSession.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { type AddressKind, addressKind, isLoopbackHost, mayName } from "../../http/hostAccess.ts"
import { type FetchPolicy, forbiddenReason, makeCheckedFetch, RequestForbidden } from "../../http/checkedFetch.ts"
import { sessionError } from "../sessionError.ts"
import { announcesIssuer, isAuthServerMetadata, type OAuthFlowState } from "./oauthProvider.ts"

/** A name alone does not show where a server is: its owner can change the address at any time. */
const kindOf = ({ hostname }: URL, address = ""): AddressKind =>
  addressKind(address) ?? addressKind(hostname) ?? (isLoopbackHost(hostname) ? "loopback" : "public")

/**
 * The policy for the URLs of an OAuth flow, which the MCP server and its authorization server name (MCP security best
 * practices, RFC 9728 §7.7). They use HTTPS, except on loopback and for the metadata of the MCP server itself, and lead to
 * public addresses or to the network of the MCP server.
 */
const makePolicy = (server: URL, serverAddress: string | undefined): FetchPolicy => {
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

/** Makes the fetch for all requests of an OAuth flow. The address of the MCP server is `undefined` behind a proxy. */
export const makeOAuthFetch = (server: URL, serverAddress: string | undefined) =>
  makeCheckedFetch(makePolicy(server, serverAddress))

/** The reason why a person must not be sent to an authorization URL. */
export const forbiddenPageReason = (server: URL, serverAddress: string | undefined, page: URL): string | undefined =>
  forbiddenReason(makePolicy(server, serverAddress), page, "POST")

/** A request for authorization. */
export interface Challenge extends ReturnType<typeof extractWWWAuthenticateParams> {
  /** The address of the server; `undefined` behind a proxy. */
  readonly serverAddress: string | undefined
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

/**
 * Runs one step of the OAuth flow, with a timeout for each request. Fails with `unavailable` without a response, and with
 * `unauthorized` after a rejection or a forbidden URL. Uninterruptible: a response may contain the only valid refresh
 * token.
 */
export const runOAuthFlow = Effect.fnUntraced(
  function* ({
    challenge,
    code,
    flowState,
    provider,
    url
  }: {
    readonly flowState: OAuthFlowState
    readonly provider: OAuthClientProvider
    readonly url: URL
    readonly challenge: Challenge
    readonly code?: string
  }): Effect.fn.Return<AuthResult, McpSessionError, Scope.Scope> {
    const { resourceMetadataUrl, scope, serverAddress } = challenge
    const checkedFetch = yield* makeOAuthFetch(url, serverAddress)
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
        flowState.sendsIssuer = announcesIssuer(metadata)
        return new Response(metadata, limited)
      } catch (error) {
        if (error instanceof RequestForbidden) failure = forbiddenUrl(error.message)
        throw error
      }
    }
    const result = yield* Effect.tryPromise({
      try: () =>
        auth(provider, {
          serverUrl: url,
          fetchFn,
          ...definedOnly({ resourceMetadataUrl, scope, authorizationCode: code })
        }),
      catch: (error) => failure ?? toAuthServerFailure(error)
    })
    return failure === undefined ? result : yield* failure
  },
  Effect.scoped,
  Effect.uninterruptible
)
