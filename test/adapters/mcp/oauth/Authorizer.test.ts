import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import {
  type AuthorizationRequest,
  type Authorizer,
  makeAuthorizer
} from "../../../../src/adapters/mcp/oauth/Authorizer.ts"
import { CredentialStore, CredentialsUnavailable } from "../../../../src/application/ports/CredentialStore.ts"
import { makeGuarded } from "../../../fixtures/oauth.ts"
import { makeVictim } from "../../http/victim.ts"
import { browse, given, Live } from "./world.ts"

const unauthorized: FetchLike = async () => new Response(null, { status: 401 })

/** A store of one server's credentials, which tests change like another process. */
const makeStore = (url: string, accessToken: string) => {
  const textOf = (access_token: string) =>
    Redacted.make(
      JSON.stringify({
        url,
        client: { client_id: "c" },
        tokens: { access_token, token_type: "Bearer", refresh_token: "r" }
      })
    )
  let kept = Option.some(textOf(accessToken))
  let isBroken = false
  const fail = Effect.fail(new CredentialsUnavailable({ message: "disk failure" }))
  return {
    service: CredentialStore.of({
      read: () => Effect.suspend(() => (isBroken ? fail : Effect.succeed(kept))),
      write: (_, credentials) => Effect.sync(() => void (kept = Option.some(credentials))),
      remove: () => Effect.sync(() => void (kept = Option.none()))
    }),
    replace: (token: string) => void (kept = Option.some(textOf(token))),
    clear: () => void (kept = Option.none()),
    fail: () => void (isBroken = true)
  }
}

/** An authorization server without metadata that rejects every refresh token. */
const makeRejecting = (onToken: () => void = () => undefined) =>
  makeVictim((request, response) => {
    if (request.url !== "/token") return void response.writeHead(404).end()
    onToken()
    response.writeHead(400, { "Content-Type": "application/json" }).end('{"error":"invalid_grant"}')
  })

const request = (authorizer: Authorizer, url: string, base: FetchLike = unauthorized) =>
  authorizer("guarded", { url, headers: null }, (wrap) =>
    Effect.promise(() =>
      wrap(base)(url).then(
        ({ status }) => status,
        () => "failed"
      )
    )
  )

describe("authorizer", () => {
  it.live.each([
    ["the headers contain Authorization", "https://mcp.example/mcp", { AUTHORIZATION: "Bearer mine" }],
    ["the URL is invalid", "mcp.example", null]
  ] as const)("leaves requests unchanged when %s", ([, url, headers]) =>
    Effect.gen(function* () {
      const authorizer = yield* makeAuthorizer()
      assert.strictEqual(
        yield* authorizer("guarded", { url, headers }, (wrap) => Effect.succeed(wrap(unauthorized))),
        unauthorized
      )
    }).pipe(Effect.scoped, Effect.provide(Live))
  )

  it.live("uses stored tokens that another process refreshed", () =>
    Effect.gen(function* () {
      const { requests, url } = yield* makeRejecting()
      const store = makeStore(`${url}/`, "old")
      const sent: Array<string | null> = []
      const base: FetchLike = async (_, init) => {
        const token = new Headers(init?.headers).get("authorization")
        sent.push(token)
        store.replace("new")
        return new Response(null, { status: token === "Bearer new" ? 200 : 401 })
      }
      const authorizer = yield* Effect.provideService(makeAuthorizer(), CredentialStore, store.service)
      assert.strictEqual(yield* request(authorizer, url, base), 200)
      assert.deepStrictEqual(sent, ["Bearer old", "Bearer new"])
      assert.deepStrictEqual(requests, [])
    })
  )

  it.live("is forbidden when another process removes the tokens during a rejected refresh", () =>
    Effect.gen(function* () {
      const { url } = yield* makeRejecting(() => store.clear())
      const store = makeStore(`${url}/`, "old")
      const authorizer = yield* Effect.provideService(makeAuthorizer(), CredentialStore, store.service)
      assert.strictEqual(yield* request(authorizer, url), 403)
    })
  )

  it.live("fails without a status while the store is unavailable, also after the tokens have expired", () =>
    Effect.gen(function* () {
      const { url } = yield* makeRejecting()
      const store = makeStore(`${url}/`, "old")
      const authorizer = yield* Effect.provideService(makeAuthorizer(), CredentialStore, store.service)
      const outcomes = yield* authorizer("guarded", { url, headers: null }, (wrap) =>
        Effect.promise(async () => {
          const send = wrap(unauthorized)
          const expired = await send(url)
          const missing = await send(url)
          store.fail()
          const unavailable = await send(url).catch(() => "failed")
          return [expired.status, missing.status, unavailable]
        })
      )
      assert.deepStrictEqual(outcomes, [403, 403, "failed"])
    })
  )

  given("authorizes two servers at the same time, each with its own request", function* ({ store, streamable }) {
    const other = yield* makeGuarded
    const shown: Array<AuthorizationRequest> = []
    const authorize = (requests: AuthorizationRequest) =>
      Effect.suspend(() => {
        shown.push(requests)
        return Effect.asVoid(browse(requests.url))
      })
    const authorizer = yield* Effect.provideService(makeAuthorizer({ authorize }), CredentialStore, store)
    yield* Effect.all([request(authorizer, streamable.href), request(authorizer, other.streamable.href)], {
      concurrency: "unbounded"
    })
    assert.strictEqual(new Set(shown.map(({ url }) => new URL(url).origin)).size, 2)
  })

  given("stops waiting for an authorization when the request is aborted", function* ({ store, streamable: { href } }) {
    const controller = new AbortController()
    const authorize = ({ url }: AuthorizationRequest) =>
      Effect.suspend(() => {
        controller.abort()
        return Effect.asVoid(browse(url))
      })
    const authorizer = yield* Effect.provideService(makeAuthorizer({ authorize }), CredentialStore, store)
    const outcome = yield* authorizer("guarded", { url: href, headers: null }, (wrap) =>
      Effect.promise(() =>
        wrap(unauthorized)(href, { signal: controller.signal }).then(
          ({ status }) => status,
          () => "aborted"
        )
      )
    )
    assert.strictEqual(outcome, "aborted")
  })
})
