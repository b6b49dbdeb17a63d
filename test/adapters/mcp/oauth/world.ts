import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { FetchLike, Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { assert, it } from "@effect/vitest"
import { Cause, Context, Effect, Layer, Logger, Option, Redacted, References, Scope } from "effect"
import {
  type AuthorizationRequest,
  type Authorizer,
  type AuthorizerOptions,
  makeAuthorizer
} from "../../../../src/adapters/mcp/oauth/Authorizer.ts"
import { httpNetwork } from "../../../../src/adapters/mcp/mcpTelemetry.ts"
import { openLegacySession } from "../../../../src/adapters/mcp/client/openLegacySession.ts"
import * as MemoryCredentialStore from "../../../fixtures/MemoryCredentialStore.ts"
import { CredentialStore, type CredentialsUnavailable } from "../../../../src/application/ports/CredentialStore.ts"
import type { McpSession, McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import type { OAuthClientParameters } from "../../../../src/domain/config/endpointParameters.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { type Guarded, makeGuarded } from "../../../fixtures/oauth.ts"

type Kind = "streamable" | "sse"

/** All log lines. */
export class Logged extends Context.Service<Logged, Array<string>>()("test/Logged") {}

interface OpenOptions {
  readonly kind?: Kind
  readonly url?: URL
  readonly headers?: { readonly [name: string]: string }
  readonly oauth?: AuthorizerOptions
  /** A client that is registered at the authorization server. */
  readonly registered?: OAuthClientParameters
  readonly store?: CredentialStore["Service"]
}

export interface World extends Guarded {
  readonly store: CredentialStore["Service"]
  /** The authorization requests shown. */
  readonly shownRequests: Array<AuthorizationRequest>
  /** The pages that the browser showed. */
  readonly pages: Array<{ readonly status: number; readonly text: string }>
  /** Opens a session with interactive authorization unless the options override it. */
  readonly open: (options?: OpenOptions) => Effect.Effect<McpSession, McpSessionError, Scope.Scope>
  /** Opens a session without interactive authorization. */
  readonly openNonInteractive: (kind?: Kind) => Effect.Effect<McpSession, McpSessionError, Scope.Scope>
  /** Opens and closes a session, which stores credentials. */
  readonly authorize: Effect.Effect<void, McpSessionError>
  readonly stored: Effect.Effect<JsonObject | undefined, CredentialsUnavailable>
}

export const browse = (url: string) =>
  Effect.promise(async () => {
    const response = await fetch(url)
    return { status: response.status, text: await response.text() }
  })

export const makeWorld = Effect.gen(function* () {
  const store = yield* CredentialStore
  const guarded = yield* makeGuarded
  const shownRequests: World["shownRequests"] = []
  const pages: Array<{ readonly status: number; readonly text: string }> = []
  const show = (request: AuthorizationRequest) =>
    Effect.uninterruptible(
      Effect.map(browse(request.url), (page) => {
        shownRequests.push(request)
        pages.push(page)
      })
    )
  const scope = yield* Effect.scope
  const authorizerOf = (oauth: AuthorizerOptions, kept = store) =>
    makeAuthorizer(oauth).pipe(Effect.provideService(CredentialStore, kept), Scope.provide(scope))
  const defaultAuthorizer = yield* authorizerOf({ authorize: show })
  const openWith = Effect.fnUntraced(function* (
    authorizer: Effect.Effect<Authorizer>,
    { headers, kind = "streamable", registered, url = guarded[kind] }: OpenOptions
  ) {
    const withAuthorization = yield* authorizer
    const make = (fetch: FetchLike) => {
      const options = { fetch, ...(headers !== undefined && { requestInit: { headers } }) }
      return kind === "sse" ? new SSEClientTransport(url, options) : new StreamableHTTPClientTransport(url, options)
    }
    const endpoint = { url: url.href, headers: headers ?? null, ...(registered !== undefined && { oauth: registered }) }
    return yield* withAuthorization("guarded", endpoint, (wrap) =>
      Effect.suspend(() => openLegacySession({ transport: make(wrap(fetch)) as Transport, network: httpNetwork(url) }))
    )
  })
  const open: World["open"] = (options = {}) => {
    const { oauth, store: kept } = options
    const isUsual = oauth === undefined && kept === undefined
    return openWith(
      isUsual ? Effect.succeed(defaultAuthorizer) : authorizerOf({ authorize: show, ...oauth }, kept),
      options
    )
  }
  const world: World = {
    ...guarded,
    store,
    shownRequests: shownRequests,
    pages,
    open,
    openNonInteractive: (kind = "streamable") => openWith(authorizerOf({}), { kind }),
    authorize: Effect.asVoid(Effect.scoped(open())),
    stored: Effect.map(store.read("guarded"), (text) =>
      Option.match(text, {
        onNone: () => undefined,
        onSome: (one) => JSON.parse(Redacted.value(one)) as JsonObject
      })
    )
  }
  return world
})

const spell = (value: unknown): string => (value instanceof Error ? String(value) : JSON.stringify(value))

export const Live = Layer.mergeAll(
  Layer.fresh(MemoryCredentialStore.layer),
  Layer.effectContext(
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make<unknown, void>(({ cause, message }) => {
        lines.push(`${[message].flat().map(spell).join(" ")} ${Cause.pretty(cause)}`)
      })
      const logging = yield* Layer.build(Logger.layer([logger]))
      return Context.merge(Context.add(logging, Logged, lines), Context.make(References.MinimumLogLevel, "All"))
    })
  )
)

/** Asserts that none of the texts contains a secret. */
export const assertClean = ({ secrets }: World, ...texts: ReadonlyArray<string>) => {
  assert.isTrue(secrets.size > 0)
  for (const text of texts) for (const secret of secrets) assert.notInclude(text, secret)
}

/** A test in a new world. */
export const given = (title: string, body: (world: World) => Effect.gen.Return<void, unknown, Scope.Scope | Logged>) =>
  it.live(title, () =>
    Effect.gen(function* () {
      yield* body(yield* makeWorld)
    }).pipe(Effect.scoped, Effect.provide(Live))
  )

export const echo = (session: McpSession) => session.callTool("echo", { a: 1 })
export const echoed: JsonObject = { content: [{ type: "text", text: '{"a":1}' }] }
