import type { ServerResponse } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { isExpectedIssuer, makeOAuthFlow, noCredentials } from "../../../../src/adapters/mcp/oauth/oauthFlow.ts"
import { makeVictim, type Victim } from "../../http/victim.ts"

type Pages = { readonly [path: string]: (response: ServerResponse) => void }

const json = (body: object, status = 200) => {
  const text = JSON.stringify(body)
  return (response: ServerResponse) => void response.writeHead(status, { "Content-Type": "application/json" }).end(text)
}

/** An MCP server that is its own authorization server, without metadata unless the pages have some. */
const makeServer = (pages: Pages) =>
  makeVictim((request, response) => {
    const respond = pages[request.url ?? ""] ?? (() => void response.writeHead(404).end())
    respond(response)
  })

const redirect = { url: "http://127.0.0.1:1/callback", state: "s", response: Effect.never }

/** Runs the step of an interactive authorization that registers a client. */
const register = Effect.fnUntraced(function* ({ url }: Victim) {
  const { run, state } = makeOAuthFlow({
    url: new URL(url),
    challenge: { serverAddress: undefined },
    credentials: noCredentials,
    redirect
  })
  return { flowState: state, result: yield* run() }
})

/** Refreshes tokens. Without a new token the flow asks for an authorization. */
const refresh = Effect.fnUntraced(function* ({ url }: Victim) {
  const issuer = `${url}/`
  const { run, state } = makeOAuthFlow({
    url: new URL(url),
    challenge: { serverAddress: undefined },
    credentials: {
      client: { client_id: "c", issuer },
      tokens: { access_token: "old", token_type: "Bearer", refresh_token: "r", issuer }
    }
  })
  return { result: yield* run(), token: state.tokens?.access_token }
})

describe("a step of an OAuth flow", () => {
  it.live.each([408, 429, 500, 502, 503])("is unavailable when the token endpoint responds with %s", (status) =>
    Effect.gen(function* () {
      const server = yield* makeServer({ "/token": (response) => void response.writeHead(status).end() })
      assert.strictEqual((yield* Effect.flip(refresh(server))).reason, "unavailable")
    })
  )

  it.live.each([400, 404, 407, 409, 428, 430, 499])(
    "requires an authorization when the token endpoint responds with %s",
    (status) =>
      Effect.gen(function* () {
        const server = yield* makeServer({ "/token": (response) => void response.writeHead(status).end() })
        assert.deepStrictEqual(yield* refresh(server), { result: "REDIRECT", token: "old" })
      })
  )

  it.live("is unavailable when the connection breaks", () =>
    Effect.gen(function* () {
      const server = yield* makeServer({ "/token": ({ socket }) => void socket?.destroy() })
      assert.strictEqual((yield* Effect.flip(refresh(server))).reason, "unavailable")
    })
  )

  it.live.each([
    ["accepts", 1024 * 1024, { result: "AUTHORIZED", token: "new" }],
    ["rejects", 1024 * 1024 + 1, { result: "REDIRECT", token: "old" }]
  ] as const)("… %s a response of %s bytes", ([, size, expected]) =>
    Effect.gen(function* () {
      const text = JSON.stringify({ access_token: "new", token_type: "Bearer" }).padEnd(size)
      const server = yield* makeServer({ "/token": (response) => void response.end(text) })
      assert.deepStrictEqual(yield* refresh(server), expected)
    })
  )

  it.live("requests a metadata URL once when its response has no body", () =>
    Effect.gen(function* () {
      const path = "/.well-known/oauth-protected-resource"
      const server = yield* makeServer({
        [path]: (response) => void response.writeHead(204).end(),
        "/token": json({ access_token: "new", token_type: "Bearer" })
      })
      yield* refresh(server)
      assert.strictEqual(server.requests.filter((request) => request === `GET ${path}`).length, 1)
    })
  )

  it.live("finds the issuer of a server without metadata, whose URL ends with a slash", () =>
    Effect.gen(function* () {
      const server = yield* makeServer({ "/register": json({ client_id: "c", redirect_uris: [redirect.url] }, 201) })
      const { flowState, result } = yield* register(server)
      assert.strictEqual(result, "REDIRECT")
      assert.deepStrictEqual(
        [server.url, `${server.url}/`, `${server.url}/other`, undefined].map((iss) => isExpectedIssuer(iss, flowState)),
        [true, true, false, true]
      )
    })
  )

  it.live("does not quote an error of the authorization server", () =>
    Effect.gen(function* () {
      const error = { error: "invalid_client_metadata", error_description: "s3cret" }
      const server = yield* makeServer({ "/register": json(error, 400) })
      const { message, reason } = yield* Effect.flip(register(server))
      assert.deepStrictEqual([reason, message], ["unauthorized", "its authorization server rejected the request"])
    })
  )

  it.live("does not quote an error of the authorization server that looks like one of the SDK", () =>
    Effect.gen(function* () {
      const error = { error: "invalid_client_metadata", error_description: "Incompatible auth server: s3cret" }
      const server = yield* makeServer({ "/register": json(error, 400) })
      assert.notInclude((yield* Effect.flip(register(server))).message, "s3cret")
    })
  )

  it.live("does not quote metadata of the MCP server that looks like an error of the SDK", () =>
    Effect.gen(function* () {
      const server = yield* makeServer({
        "/.well-known/oauth-protected-resource": json({
          resource: "https://evil.example/Incompatible auth server: s3cret"
        })
      })
      const { message, reason } = yield* Effect.flip(register(server))
      assert.strictEqual(reason, "unauthorized")
      assert.notInclude(message, "s3cret")
    })
  )
})
