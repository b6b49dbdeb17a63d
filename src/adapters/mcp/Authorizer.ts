import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { Duration, Effect, Fiber, FiberMap, Option, Result, type Scope } from "effect"
import { CredentialStore } from "../../application/ports/CredentialStore.ts"
import { McpFailure } from "../../application/ports/McpSession.ts"
import { makeVault, nothing, type Vault } from "./Credentials.ts"
import { type Challenge, converse, type Draft, makeProvider } from "./OAuth.ts"
import { listenForRedirect } from "./RedirectListener.ts"
import { type Enter, makeGate } from "./TokenGate.ts"

/** Somebody is asked to authorize us at an MCP server. */
export interface AuthorizationRequest {
  /** The name of the MCP server. */
  readonly server: string
  /** What to open in a browser: `http` or `https`, chosen by the MCP server. Give it to no shell, nor to the office. */
  readonly url: string
}

/** How a Computer authorizes itself at MCP servers. */
export interface AuthorizerOptions {
  /** Shows somebody what to visit; {@link sayOnLog} will do. Without it nobody is asked. */
  readonly authorize?: (request: AuthorizationRequest) => Effect.Effect<void>
  /** How long whoever is asked may take; five minutes unless given. */
  readonly patience?: Duration.Input
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
  readonly around: <A, R>(
    server: string,
    endpoint: HttpEndpoint,
    open: (wrap: WrapFetch) => Effect.Effect<A, McpFailure, R>
  ) => Effect.Effect<A, McpFailure, R>
}

/**
 * Asks whoever reads the log. Without the verifier, which never leaves this process, nobody can make anything of what
 * stands in the URL.
 */
export const sayOnLog = ({ server, url }: AuthorizationRequest): Effect.Effect<void> =>
  Effect.logWarning("an MCP server asks for authorization; open this page in a browser of this machine", {
    server,
    url
  })

/** How long whoever is asked may take, unless a host says otherwise. */
const usualPatience = Duration.minutes(5)

interface Target {
  readonly server: string
  readonly url: URL
  readonly vault: Vault
}

const refused = (kind: "unauthorized" | "forbidden", message: string) => new McpFailure({ kind, message })

const missing = refused(
  "unauthorized",
  "the MCP server asks for authorization and nobody can be asked: authorize it at this Computer, or configure a token"
)
const lapsed = refused("forbidden", "the authorization has lapsed and cannot be renewed: authorize it anew")

const hasOwnAuthorization = (headers: HttpEndpoint["headers"]): boolean =>
  Object.keys(headers ?? {}).some((name) => name.toLowerCase() === "authorization")

/** Renews the tokens of a server, unless somebody was faster, and gives an access token other than the one refused. */
const renew = Effect.fnUntraced(function* (
  { server, url, vault }: Target,
  sent: string | undefined,
  challenge: Challenge
): Effect.fn.Return<string, McpFailure> {
  const stored = yield* vault.read
  const { tokens } = stored
  if (tokens !== undefined && tokens.access_token !== sent) return tokens.access_token
  if (tokens?.refresh_token === undefined) return yield* missing
  const draft: Draft = { ...stored, page: undefined }
  const outcome = yield* Effect.result(converse({ provider: makeProvider(draft), url, challenge }))
  if (Result.isSuccess(outcome) && outcome.success === "AUTHORIZED" && draft.tokens !== undefined) {
    yield* vault.write(draft)
    yield* Effect.logDebug("authorization renewed", { server })
    return draft.tokens.access_token
  }
  if (Result.isFailure(outcome) && outcome.failure.kind === "unavailable") return yield* outcome.failure
  // Refused, perhaps because another process has renewed in between: what that has stored must stay.
  const { tokens: now } = yield* vault.read
  if (now !== undefined && now.access_token !== tokens.access_token) return now.access_token
  yield* vault.write(draft)
  yield* Effect.logInfo("authorization has lapsed", { server })
  return yield* lapsed
}, Effect.uninterruptible)

/** Gets a code from somebody, and what is needed to exchange it. */
const ask = Effect.fnUntraced(function* (
  { server, url }: Target,
  challenge: Challenge,
  authorize: NonNullable<AuthorizerOptions["authorize"]>
) {
  const listener = yield* listenForRedirect
  const draft: Draft = { ...nothing, page: undefined }
  const provider = makeProvider(draft, listener)
  yield* converse({ provider, url, challenge })
  const { page } = draft
  // An MCP server could name anything that this machine opens, a program even.
  if (page?.protocol !== "https:" && page?.protocol !== "http:") {
    return yield* refused("unauthorized", "its authorization server names no web page to be authorized at")
  }
  yield* Effect.logInfo("asking for authorization", { server })
  const shown = Effect.andThen(authorize({ server, url: page.href }), Effect.never)
  return { draft, provider, code: yield* Effect.raceFirst(listener.code, shown) }
})

/** Makes an authorizer. What it has begun ends with the scope. */
export const makeAuthorizer = Effect.fnUntraced(function* ({
  authorize,
  patience: given = usualPatience
}: AuthorizerOptions = {}): Effect.fn.Return<Authorizer, never, CredentialStore | Scope.Scope> {
  const store = yield* CredentialStore
  const runPromise = Effect.runPromiseWith(yield* Effect.context<never>())
  const patience = Duration.fromInputUnsafe(given)
  const late = refused("unauthorized", `nobody authorized it within ${Duration.toSeconds(patience)} seconds`)
  const talks = yield* FiberMap.make<string, string, McpFailure>()

  /** One conversation of a kind at a time for a server: most refresh tokens are taken only once. */
  const once = (kind: string, { server, url }: Target, talk: Effect.Effect<string, McpFailure>) =>
    Effect.suspend(() => {
      const key = JSON.stringify([kind, server, url.href])
      return Option.match(FiberMap.getUnsafe(talks, key), {
        onNone: () => Effect.flatMap(FiberMap.run(talks, key, talk), Fiber.join),
        onSome: Fiber.join
      })
    })

  const authorizeAnew = Effect.fnUntraced(function* (
    target: Target,
    challenge: Challenge,
    show: NonNullable<AuthorizerOptions["authorize"]>
  ): Effect.fn.Return<string, McpFailure> {
    const { server, url, vault } = target
    const { code, draft, provider } = yield* Effect.scoped(ask(target, challenge, show)).pipe(
      Effect.timeoutOrElse({ duration: patience, orElse: () => Effect.fail(late) })
    )
    yield* converse({ provider, url, challenge, code }).pipe(
      Effect.andThen(Effect.suspend(() => vault.write(draft))),
      Effect.uninterruptible
    )
    if (draft.tokens === undefined) {
      return yield* refused("unauthorized", "its authorization server gave no tokens")
    }
    yield* Effect.logInfo("authorized", { server })
    return draft.tokens.access_token
  })

  const enter = (target: Target): Enter => {
    /** Tokens were granted once; that the store has forgotten them since is no reason to say they never were. */
    let hasLapsed = false
    return ({ challenge, mayAsk, sent }, signal) => {
      const renewed = once("renew", target, renew(target, sent, challenge)).pipe(
        Effect.tapError((failure) => Effect.sync(() => (hasLapsed ||= failure === lapsed))),
        Effect.mapError((failure) => (failure === missing && hasLapsed ? lapsed : failure))
      )
      const entered =
        authorize === undefined || !mayAsk
          ? renewed
          : Effect.catchIf(
              renewed,
              ({ kind }) => kind !== "unavailable",
              () => once("ask", target, authorizeAnew(target, challenge, authorize))
            )
      return runPromise(Effect.result(entered), signal && { signal })
    }
  }

  return {
    around: (server, { headers, url: address }, open) => {
      const url = URL.parse(address)
      if (url === null || hasOwnAuthorization(headers)) return open((fetch) => fetch)
      const target: Target = { server, url, vault: makeVault(store, server, url) }
      // A server that asks for nothing needs no credentials, readable or not; one that asks will hear what is wrong.
      return Effect.flatMap(
        Effect.orElseSucceed(target.vault.read, () => nothing),
        (stored) => {
          const { explain, wrap } = makeGate(url, stored.tokens?.access_token, enter(target))
          return Effect.mapError(open(wrap), explain)
        }
      )
    }
  }
})
