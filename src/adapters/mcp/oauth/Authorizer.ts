import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Duration, Effect, Fiber, FiberMap, FiberSet, Option, Result, type Scope } from "effect"
import { CredentialStore } from "../../../application/ports/CredentialStore.ts"
import type { McpSessionError } from "../../../application/ports/McpSession.ts"
import { sessionError } from "../sessionError.ts"
import { makeOAuthCredentialStore, noCredentials, type OAuthCredentialStore } from "./OAuthCredentialStore.ts"
import { type Challenge, runOAuthFlow, type OAuthFlowState, makeOAuthProvider } from "./oauthFlow.ts"
import { listenForRedirect } from "./RedirectListener.ts"
import { type ObtainToken, makeBearerAuth } from "./BearerAuth.ts"

/** Somebody is asked to authorize us at an MCP server. */
export interface AuthorizationRequest {
  /** The name of the MCP server. */
  readonly server: string
  /** What to open in a browser: `http` or `https`, chosen by the MCP server. Give it to no shell, nor to the office. */
  readonly url: string
}

/** How a Computer authorizes itself at MCP servers. */
export interface AuthorizerOptions {
  /** Shows somebody what to visit; {@link logAuthorizationRequest} will do. Without it nobody is asked. */
  readonly authorize?: (request: AuthorizationRequest) => Effect.Effect<void>
  /** How long whoever is asked may take; five minutes unless given. */
  readonly authorizationTimeout?: Duration.Input
}

/** The part of an HTTP endpoint that authorization is about. */
interface HttpEndpoint {
  readonly url: string
  /** The configured headers. With an `Authorization` among them, OAuth stays out of it. */
  readonly headers: { readonly [name: string]: string } | null
}

/** Puts authorization in front of a fetch. */
export type WrapFetch = (fetch: FetchLike) => FetchLike

/** Gets sessions past servers that ask for authorization. */
export interface Authorizer {
  /**
   * Runs `open`, which sends every HTTP request of a session through `wrap(fetch)`: stored tokens are shown to the
   * server, and renewed when they are no longer taken. Where they do not suffice while the session opens, somebody is
   * asked, and the request waits; later on it is refused. An authorization that was begun goes on when `open` is given
   * up, so that whoever opens the session next has it.
   *
   * Fails with `unauthorized` where authorization is missing, with `forbidden` where it has lapsed or does not suffice
   * (HTTP 403), and with `unavailable` where the authorization server or the store does not work.
   */
  readonly withAuthorization: <A, R>(
    server: string,
    endpoint: HttpEndpoint,
    open: (wrap: WrapFetch) => Effect.Effect<A, McpSessionError, R>
  ) => Effect.Effect<A, McpSessionError, R>
}

/**
 * Asks whoever reads the log. Without the verifier, which never leaves this process, nobody can make anything of what
 * stands in the URL.
 */
export const logAuthorizationRequest = ({ server, url }: AuthorizationRequest): Effect.Effect<void> =>
  Effect.logWarning("MCP server requires authorization: open the URL in a browser on this machine", {
    server,
    url
  })

/** How long whoever is asked may take, unless a host says otherwise. */
const defaultAuthorizationTimeout = Duration.minutes(5)

interface AuthorizationTarget {
  readonly server: string
  readonly url: URL
  readonly credentials: OAuthCredentialStore
}

const authorizationMissing = sessionError(
  "unauthorized",
  "MCP server requires authorization: authorize it at this Computer or configure a token"
)
const authorizationExpired = sessionError(
  "forbidden",
  "the authorization has expired and cannot be refreshed: authorize it again"
)

const hasAuthorizationHeader = (headers: HttpEndpoint["headers"]): boolean =>
  Object.keys(headers ?? {}).some((name) => name.toLowerCase() === "authorization")

/** Renews the tokens of a server, unless somebody was faster, and gives an access token other than the one refused. */
const refreshTokens = Effect.fnUntraced(function* (
  { server, url, credentials }: AuthorizationTarget,
  sentToken: string | undefined,
  challenge: Challenge
): Effect.fn.Return<string, McpSessionError> {
  const stored = yield* credentials.read
  const { tokens } = stored
  if (tokens !== undefined && tokens.access_token !== sentToken) return tokens.access_token
  if (tokens?.refresh_token === undefined) return yield* authorizationMissing
  const flowState: OAuthFlowState = { ...stored, authorizationUrl: undefined }
  const outcome = yield* Effect.result(
    runOAuthFlow({ provider: makeOAuthProvider(flowState), url, challenge })
  )
  if (Result.isSuccess(outcome) && outcome.success === "AUTHORIZED" && flowState.tokens !== undefined) {
    yield* credentials.write(flowState)
    yield* Effect.logDebug("OAuth tokens refreshed", { server })
    return flowState.tokens.access_token
  }
  if (Result.isFailure(outcome) && outcome.failure.reason === "unavailable") return yield* outcome.failure
  // Refused, perhaps because another process has renewed in between: what that has stored must stay.
  const { tokens: now } = yield* credentials.read
  if (now !== undefined && now.access_token !== tokens.access_token) return now.access_token
  yield* credentials.write(flowState)
  yield* Effect.logInfo("OAuth authorization expired", { server })
  return yield* authorizationExpired
}, Effect.uninterruptible)

/** Gets a code from somebody, and what is needed to exchange it. */
const requestCode = Effect.fnUntraced(function* (
  { server, url }: AuthorizationTarget,
  challenge: Challenge,
  authorize: NonNullable<AuthorizerOptions["authorize"]>
) {
  const listener = yield* listenForRedirect
  const flowState: OAuthFlowState = { ...noCredentials, authorizationUrl: undefined }
  const provider = makeOAuthProvider(flowState, listener)
  yield* runOAuthFlow({ provider, url, challenge })
  const { authorizationUrl } = flowState
  // An MCP server could name anything that this machine opens, a program even.
  if (authorizationUrl?.protocol !== "https:" && authorizationUrl?.protocol !== "http:") {
    return yield* sessionError(
      "unauthorized",
      "its authorization server gave an authorization URL that is not http or https"
    )
  }
  yield* Effect.logInfo("OAuth authorization requested", { server })
  const shown = Effect.andThen(authorize({ server, url: authorizationUrl.href }), Effect.never)
  return { flowState, provider, code: yield* Effect.raceFirst(listener.code, shown) }
})

/** Makes an authorizer. What it has begun ends with the scope. */
export const makeAuthorizer = Effect.fnUntraced(function* ({
  authorize,
  authorizationTimeout = defaultAuthorizationTimeout
}: AuthorizerOptions = {}): Effect.fn.Return<Authorizer, never, CredentialStore | Scope.Scope> {
  const store = yield* CredentialStore
  const runPromise = yield* FiberSet.makeRuntimePromise()
  const timeout = Duration.fromInputUnsafe(authorizationTimeout)
  const timeoutFailure = sessionError(
    "unauthorized",
    `authorization timeout after ${Duration.toSeconds(timeout)} seconds`
  )
  const flows = yield* FiberMap.make<string, string, McpSessionError>()

  /** One conversation of a kind at a time for a server: most refresh tokens are taken only once. */
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
    const { server, url, credentials } = target
    const { code, flowState, provider } = yield* Effect.scoped(requestCode(target, challenge, show)).pipe(
      Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.fail(timeoutFailure) })
    )
    yield* runOAuthFlow({ provider, url, challenge, code }).pipe(
      Effect.andThen(Effect.suspend(() => credentials.write(flowState))),
      Effect.uninterruptible
    )
    if (flowState.tokens === undefined) {
      return yield* sessionError("unauthorized", "its authorization server issued no tokens")
    }
    yield* Effect.logInfo("OAuth authorization completed", { server })
    return flowState.tokens.access_token
  })

  const makeObtainToken = (target: AuthorizationTarget): ObtainToken => {
    /** Tokens were granted once; that the store has forgotten them since is no reason to say they never were. */
    let hasExpired = false
    return ({ challenge, allowInteractive, sentToken }, signal) => {
      const refreshed = singleFlight("refresh", target, refreshTokens(target, sentToken, challenge)).pipe(
        Effect.tapError((failure) => Effect.sync(() => (hasExpired ||= failure === authorizationExpired))),
        Effect.mapError((failure) =>
          failure === authorizationMissing && hasExpired ? authorizationExpired : failure
        )
      )
      const obtained =
        authorize === undefined || !allowInteractive
          ? refreshed
          : Effect.catchIf(
              refreshed,
              ({ reason }) => reason !== "unavailable",
              () => singleFlight("authorize", target, authorizeInteractively(target, challenge, authorize))
            )
      return runPromise(Effect.result(obtained), signal && { signal })
    }
  }

  return {
    withAuthorization: (server, { headers, url: address }, open) => {
      const url = URL.parse(address)
      if (url === null || hasAuthorizationHeader(headers)) return open((fetch) => fetch)
      const target: AuthorizationTarget = {
        server,
        url,
        credentials: makeOAuthCredentialStore(store, server, url)
      }
      // A server that asks for nothing needs no credentials, readable or not; one that asks will hear what is wrong.
      return Effect.flatMap(
        Effect.orElseSucceed(target.credentials.read, () => noCredentials),
        (stored) => {
          const { explainFailure, wrapFetch } = makeBearerAuth(
            url,
            stored.tokens?.access_token,
            makeObtainToken(target)
          )
          return Effect.mapError(open(wrapFetch), explainFailure)
        }
      )
    }
  }
})
