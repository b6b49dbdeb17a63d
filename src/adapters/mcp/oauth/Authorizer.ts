import { Duration, Effect, Fiber, FiberMap, FiberSet, Option, Result, type Scope } from "effect"
import { CredentialStore } from "../../../application/ports/CredentialStore.ts"
import { type McpSessionError, sessionError } from "../../../application/ports/McpSession.ts"
import type { StreamableParameters } from "../../../domain/config/endpointParameters.ts"
import { type Fetch, forbiddenReason } from "../../http/checkedFetch.ts"
import {
  type Challenge,
  forbiddenUrl,
  isExpectedIssuer,
  lacksScope,
  makeOAuthCredentialStore,
  makeOAuthFlow,
  noCredentials,
  type OAuthClient
} from "./oauthFlow.ts"
import { listenForRedirect } from "./RedirectListener.ts"
import { type ObtainToken, makeBearerAuth } from "./BearerAuth.ts"

/** A request to a person to authorize this Computer at an MCP server. */
export interface AuthorizationRequest {
  readonly server: string
  /** The page to open, `http` or `https`. Untrusted: never pass it to a shell or to the office. */
  readonly url: string
}

export interface AuthorizerOptions {
  /** Shows the request to a person. Without it authorization is not interactive. */
  readonly authorize?: (request: AuthorizationRequest) => Effect.Effect<void>
  /** How long interactive authorization may take; 5 minutes by default. */
  readonly authorizationTimeout?: Duration.Input
  /** The `https` URL of this Computer's client ID metadata document. Without it the Computer registers itself. */
  readonly clientMetadataUrl?: string | undefined
}

/** OAuth is disabled when the headers contain `Authorization`. */
type HttpEndpoint = Pick<StreamableParameters, "headers" | "oauth" | "url">

export type WrapFetch = (fetch: Fetch) => Fetch

/**
 * Runs `open`, which must send every HTTP request of a session through `wrap(fetch)`. Stored tokens are sent and
 * refreshed after a 401. While the session opens, a failed refresh starts interactive authorization, and the request
 * waits for it. In an open session it fails instead, unless it is the first that needs a token, or the token lacks a scope.
 * Interactive authorization continues when `open` is interrupted, and the next session uses its tokens.
 *
 * Fails with `unauthorized` when authorization is missing, with `forbidden` when it has expired or is insufficient
 * (HTTP 403), and with `unavailable` when the authorization server or the store fails.
 */
export type Authorizer = <A, R>(
  server: string,
  endpoint: HttpEndpoint,
  open: (wrap: WrapFetch) => Effect.Effect<A, McpSessionError, R>
) => Effect.Effect<A, McpSessionError, R>

/** Logs the authorization URL. It is no secret: only this process holds the PKCE verifier. */
export const logAuthorizationRequest = ({ server, url }: AuthorizationRequest): Effect.Effect<void> =>
  Effect.logWarning("MCP server requires authorization, so open the URL in a browser on this machine", { server, url })

interface AuthorizationTarget {
  readonly server: string
  readonly url: URL
  readonly credentials: ReturnType<typeof makeOAuthCredentialStore>
  readonly client: OAuthClient
}

const authorizationMissing = sessionError(
  "unauthorized",
  "MCP server requires authorization, so authorize it at this Computer or configure a token"
)
const authorizationExpired = sessionError(
  "forbidden",
  "the authorization has expired and cannot be refreshed: authorize it again"
)
const scopeMissing = sessionError("forbidden", "the authorization does not cover this request: authorize it again")

const hasAuthorizationHeader = (headers: HttpEndpoint["headers"]): boolean =>
  Object.keys(headers ?? {}).some((name) => name.toLowerCase() === "authorization")

/** Returns an access token other than the rejected one, possibly from a concurrent refresh. */
const refreshTokens = Effect.fnUntraced(function* (
  { client, server, url, credentials }: AuthorizationTarget,
  sentToken: string | undefined,
  challenge: Challenge
): Effect.fn.Return<string, McpSessionError> {
  const stored = yield* credentials.read
  const { tokens } = stored
  if (tokens !== undefined && tokens.access_token !== sentToken) return tokens.access_token
  // A refreshed token has the same scopes.
  if (lacksScope(challenge)) return yield* scopeMissing
  if (tokens?.refresh_token === undefined) return yield* authorizationMissing
  const { run, state } = makeOAuthFlow({ url, challenge, client, credentials: stored })
  const outcome = yield* Effect.result(run())
  if (Result.isSuccess(outcome) && outcome.success === "AUTHORIZED" && state.tokens !== undefined) {
    yield* credentials.write(state)
    yield* Effect.logDebug("OAuth tokens refreshed", { server })
    return state.tokens.access_token
  }
  if (Result.isFailure(outcome) && outcome.failure.reason === "unavailable") return yield* outcome.failure
  // Another process may have refreshed the tokens meanwhile; its tokens must stay.
  const { tokens: now } = yield* credentials.read
  if (now !== undefined && now.access_token !== tokens.access_token) return now.access_token
  yield* credentials.write(state)
  const reason = Result.isFailure(outcome) ? outcome.failure.message : "a new authorization is required"
  yield* Effect.logInfo("OAuth authorization expired", { server, reason })
  return yield* authorizationExpired
}, Effect.uninterruptible)

/** Runs interactive authorization up to the authorization code. */
const requestCode = Effect.fnUntraced(function* (
  { client, credentials, server, url }: AuthorizationTarget,
  challenge: Challenge,
  authorize: NonNullable<AuthorizerOptions["authorize"]>
) {
  const redirect = yield* listenForRedirect
  const stored = yield* credentials.read
  // A client that this Computer registers has the port of the redirect.
  const fresh = { ...noCredentials, client: client.registered && stored.client }
  const granted = lacksScope(challenge) ? stored.tokens?.scope : undefined
  const flow = makeOAuthFlow({ url, challenge, client, credentials: fresh, redirect, granted })
  yield* flow.run()
  const { authorizationUrl } = flow.state
  if (authorizationUrl === undefined) return yield* sessionError("unauthorized", "its authorization has no URL to open")
  // An MCP server could name any URL scheme, including one that starts a program, and any page of this network.
  const reason = forbiddenReason(flow.policy, authorizationUrl, "POST")
  if (reason !== undefined) return yield* forbiddenUrl(`${authorizationUrl.origin}: ${reason}`)
  yield* Effect.logInfo("OAuth authorization requested", { server })
  const shown = Effect.andThen(authorize({ server, url: authorizationUrl.href }), Effect.never)
  const { code, iss } = yield* Effect.raceFirst(redirect.response, shown)
  if (!isExpectedIssuer(iss, flow.state)) {
    return yield* sessionError("unauthorized", "the authorization response names another issuer, or none")
  }
  return { ...flow, code }
})

/**
 * Makes a function that tells whether a person has not been asked for what a challenge requires. A server that requires
 * scopes again does not accept what was granted.
 */
const makeRequestMemory = () => {
  const requested = new Set<string>()
  return (challenge: Challenge): boolean => {
    const scopes = (challenge.scope ?? "").split(" ").filter((scope) => !requested.has(scope))
    for (const scope of scopes) requested.add(scope)
    return !lacksScope(challenge) || scopes.length > 0
  }
}

/** Makes an authorizer. Its flows end with the scope. */
export const makeAuthorizer = Effect.fnUntraced(function* ({
  authorize,
  authorizationTimeout = Duration.minutes(5),
  clientMetadataUrl
}: AuthorizerOptions = {}): Effect.fn.Return<Authorizer, never, CredentialStore | Scope.Scope> {
  const store = yield* CredentialStore
  const runPromise = yield* FiberSet.makeRuntimePromise()
  const timeout = Duration.fromInputUnsafe(authorizationTimeout)
  const late = `authorization timeout after ${Duration.toSeconds(timeout)} seconds`
  const flows = yield* FiberMap.make<string, string, McpSessionError>()

  /** Runs one flow of a kind per server at a time: most refresh tokens are single-use. */
  const singleFlight = (
    kind: string,
    { server, url }: AuthorizationTarget,
    flow: Effect.Effect<string, McpSessionError>
  ) =>
    Effect.suspend(() => {
      const key = JSON.stringify([kind, server, url.href])
      return Option.match(FiberMap.getUnsafe(flows, key), {
        onNone: () => Effect.flatMap(FiberMap.run(flows, key, flow), Fiber.join),
        onSome: Fiber.join
      })
    })

  const authorizeInteractively = Effect.fnUntraced(function* (
    target: AuthorizationTarget,
    challenge: Challenge,
    show: NonNullable<AuthorizerOptions["authorize"]>
  ): Effect.fn.Return<string, McpSessionError> {
    const { server, credentials } = target
    const { code, run, state } = yield* Effect.scoped(requestCode(target, challenge, show)).pipe(
      Effect.timeoutOrElse({ duration: timeout, orElse: () => sessionError("unauthorized", late) })
    )
    yield* run(code).pipe(Effect.andThen(Effect.suspend(() => credentials.write(state))), Effect.uninterruptible)
    if (state.tokens === undefined) {
      return yield* sessionError("unauthorized", "its authorization server issued no tokens")
    }
    yield* Effect.logInfo("OAuth authorization completed", { server })
    return state.tokens.access_token
  })

  const makeObtainToken = (target: AuthorizationTarget): ObtainToken => {
    /** Tokens were granted once, even if the store has lost them since. */
    let hasExpired = false
    const isNewRequest = makeRequestMemory()
    return ({ challenge, allowInteractive, sentToken }, signal) => {
      const refreshed = singleFlight("refresh", target, refreshTokens(target, sentToken, challenge)).pipe(
        Effect.tapError((failure) => Effect.sync(() => (hasExpired ||= failure === authorizationExpired))),
        Effect.mapError((failure) => (failure === authorizationMissing && hasExpired ? authorizationExpired : failure))
      )
      const obtained =
        authorize === undefined || !allowInteractive
          ? refreshed
          : Effect.catchIf(
              refreshed,
              ({ reason }) => reason !== "unavailable" && isNewRequest(challenge),
              () => singleFlight("authorize", target, authorizeInteractively(target, challenge, authorize))
            )
      return runPromise(Effect.result(obtained), signal && { signal })
    }
  }

  return (server, { headers, oauth: registered, url: address }, open) => {
    const url = URL.parse(address)
    if (url === null || hasAuthorizationHeader(headers)) return open((fetch) => fetch)
    const credentials = makeOAuthCredentialStore(store, server, url, registered)
    const obtainToken = makeObtainToken({ server, url, credentials, client: { clientMetadataUrl, registered } })
    // The credentials matter only when the server requires authorization; then the flow reports the error.
    return Effect.flatMap(
      Effect.orElseSucceed(credentials.read, () => noCredentials),
      ({ tokens }) => {
        const { explainFailure, wrapFetch } = makeBearerAuth(url, tokens?.access_token, obtainToken)
        return Effect.mapError(open(wrapFetch), explainFailure)
      }
    )
  }
})
