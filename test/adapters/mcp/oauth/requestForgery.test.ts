import http from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Result } from "effect"
import { withServerAddress } from "../../../../src/adapters/http/nodeHttp.ts"
import { type AuthorizationRequest, makeAuthorizer } from "../../../../src/adapters/mcp/oauth/Authorizer.ts"
import { makeHttpFetch } from "../../../../src/adapters/mcp/client/http/HttpFetch.ts"
import { makeBearerAuth } from "../../../../src/adapters/mcp/oauth/BearerAuth.ts"
import { sessionError } from "../../../../src/application/ports/McpSession.ts"
import type { Behaviour } from "../../../fixtures/oauth.ts"
import { makeVictim } from "../../http/victim.ts"
import { browse, echo, echoed, given, Live } from "./world.ts"

const metadataService = "http://169.254.169.254/latest/meta-data"
const forbidden = "its authorization needs a URL that this Computer does not open"

describe("Computer whose MCP server is in the internet", () => {
  /** Asks for authorization like a server with this URL and address. */
  const challenged = (url: string, address: string | undefined, header: string) =>
    Effect.gen(function* () {
      const shown: Array<AuthorizationRequest> = []
      const authorize = (request: AuthorizationRequest) => Effect.sync(() => void shown.push(request))
      const withAuthorization = yield* makeAuthorizer({ authorize })
      const headers = { "WWW-Authenticate": header }
      const base = async () => withServerAddress(new Response(null, { status: 401, headers }), address)
      const response = yield* withAuthorization("remote", { url, headers: null }, (wrap) =>
        Effect.promise(() => wrap(base)(url))
      )
      return { shown, status: response.status }
    })

  for (const [where, url, address] of [
    ["a public address", "https://mcp.example/mcp", "8.8.8.8"],
    ["an unknown address", "https://mcp.example/mcp", undefined],
    ["a name that looks local", "https://localhost.example/mcp", "8.8.8.8"]
  ] as const) {
    it.live(`sends no request to its loopback interface for a server with ${where}`, () =>
      Effect.gen(function* () {
        const victim = yield* makeVictim()
        for (const host of ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"]) {
          const { shown, status } = yield* challenged(
            url,
            address,
            `Bearer resource_metadata="http://${host}:${victim.port}/admin"`
          )
          assert.deepStrictEqual([status, shown.length], [401, 0])
        }
        assert.deepStrictEqual(victim.requests, [])
      }).pipe(Effect.scoped, Effect.provide(Live))
    )
  }
})

describe("address of an MCP server", () => {
  const addressSeen = (response: Response) =>
    Effect.promise(async () => {
      const seen: Array<string | undefined> = []
      const { wrapFetch } = makeBearerAuth(new URL("https://mcp.example/mcp"), undefined, async ({ challenge }) => {
        seen.push(challenge.serverAddress)
        return Result.fail(sessionError("unauthorized", "no"))
      })
      await wrapFetch(async () => response)("https://mcp.example/mcp")
      return seen
    })

  it.live("is the one that asked for authorization, or unknown", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* addressSeen(withServerAddress(new Response(null, { status: 401 }), "10.1.2.3")), [
        "10.1.2.3"
      ])
      assert.deepStrictEqual(yield* addressSeen(new Response(null, { status: 401 })), [undefined])
    })
  )

  it.live("is unknown behind a proxy, and known for a host of NO_PROXY", () =>
    Effect.gen(function* () {
      const { port, url } = yield* makeVictim((_, response) => void response.writeHead(401).end())
      const request = Effect.fnUntraced(function* (url: string) {
        const fetch = yield* makeHttpFetch({ resumable: false, sseReadTimeout: Duration.zero, timeout: Duration.zero })
        return yield* addressSeen(yield* Effect.promise(() => fetch(url)))
      })
      assert.deepStrictEqual(yield* request(url), ["127.0.0.1"])
      yield* Effect.acquireRelease(
        Effect.sync(() => http.setGlobalProxyFromEnv({ http_proxy: url, no_proxy: "localhost" })),
        (restore) => Effect.sync(restore)
      )
      for (const proxied of ["http://mcp.example/", "http://10.1.2.3/"]) {
        assert.deepStrictEqual(yield* request(proxied), [undefined])
      }
      assert.deepStrictEqual(yield* request(`http://localhost:${port}/`), ["127.0.0.1"])
    })
  )
})

describe("MCP server on loopback", () => {
  const secure = metadataService.replace("http:", "https:")
  const insecureReason = `${forbidden}: http://169.254.169.254: https is required`
  const linkLocalReason = `${forbidden}: https://169.254.169.254: a link-local address is not allowed here`

  const linkLocalNames: ReadonlyArray<readonly [title: string, change: Partial<Behaviour>, reason: string]> = [
    ["its metadata", { namesMetadata: metadataService }, insecureReason],
    ["its metadata over HTTPS", { namesMetadata: secure }, linkLocalReason],
    ["its authorization server", { namesAuthorizationServer: metadataService }, insecureReason],
    ["its authorization server over HTTPS", { namesAuthorizationServer: secure }, linkLocalReason],
    ["registration endpoint", { metadata: { registration_endpoint: metadataService } }, insecureReason],
    ["authorization endpoint", { requestsAt: metadataService }, insecureReason],
    ["authorization endpoint over HTTPS", { requestsAt: secure }, linkLocalReason]
  ]
  for (const [title, change, reason] of linkLocalNames) {
    given(`cannot make the Computer request a link-local URL as ${title}`, function* (world) {
      Object.assign(world.behaviour, change)
      const failure = yield* Effect.flip(world.open())
      assert.deepStrictEqual([failure.reason, failure.message], ["unauthorized", reason])
      assert.deepStrictEqual([world.shownRequests.length, world.tokenRequests.length], [0, 0])
    })
  }

  given("cannot make the Computer send the code to a link-local URL", function* (world) {
    world.behaviour.metadata = { token_endpoint: metadataService }
    const failure = yield* Effect.flip(world.open())
    assert.deepStrictEqual([failure.reason, failure.message], ["unauthorized", insecureReason])
    assert.strictEqual(world.shownRequests.length, 1)
  })

  given("cannot make the Computer send a refresh token to a link-local URL, and keeps its tokens", function* (world) {
    yield* world.authorize
    world.expire()
    world.behaviour.metadata = { token_endpoint: secure }
    assert.strictEqual((yield* Effect.flip(world.openNonInteractive())).reason, "forbidden")
    world.behaviour.metadata = {}
    assert.deepStrictEqual(yield* echo(yield* world.openNonInteractive()), echoed)
  })

  given("cannot move the code to another authorization server after the authorization", function* (world) {
    const victim = yield* makeVictim()
    const authorize = ({ url }: AuthorizationRequest) => {
      world.behaviour.namesAuthorizationServer = victim.url
      return Effect.asVoid(browse(url))
    }
    assert.deepStrictEqual(yield* echo(yield* world.open({ oauth: { authorize } })), echoed)
    assert.deepStrictEqual(victim.requests, [])
  })

  given("cannot redirect the Computer to another origin", function* (world) {
    const victim = yield* makeVictim()
    world.behaviour.redirectsMetadata = `${victim.url}/admin`
    yield* Effect.exit(world.open())
    assert.deepStrictEqual(victim.requests, [])
  })
})

describe("authorization server", () => {
  const other = "https://honest.example"

  const announces = { authorization_response_iss_parameter_supported: true }

  const rejected: ReadonlyArray<readonly [title: string, change: Partial<Behaviour>]> = [
    ["names another issuer", { iss: other }],
    ["names another issuer, and its metadata announces the issuer", { metadata: announces, iss: other }],
    ["names no issuer, and its metadata announces it", { metadata: announces }],
    ["names no issuer, and its OpenID Connect metadata announces it", { metadata: announces, openId: true }]
  ]
  for (const [title, change] of rejected) {
    given(`is rejected when its response ${title}`, function* (world) {
      Object.assign(world.behaviour, change)
      const failure = yield* Effect.flip(world.open())
      assert.deepStrictEqual(
        [failure.reason, failure.message],
        ["unauthorized", "the authorization response names another issuer, or none"]
      )
      assert.strictEqual(world.tokenRequests.length, 0)
    })
  }

  given("is accepted when its response names the issuer", function* (world) {
    world.behaviour.metadata = announces
    world.behaviour.iss = world.issuer
    assert.deepStrictEqual(yield* echo(yield* world.open()), echoed)
  })

  given("is accepted with OpenID Connect metadata", function* (world) {
    world.behaviour.openId = true
    assert.deepStrictEqual(yield* echo(yield* world.open()), echoed)
  })

  for (const issuer of [other, "http://evil-127.0.0.1"]) {
    given(`is rejected when its metadata names the issuer ${issuer}`, function* (world) {
      world.behaviour.metadata = { issuer }
      world.behaviour.iss = issuer
      const failure = yield* Effect.flip(world.open())
      assert.include(failure.message, "its metadata names another issuer")
      assert.strictEqual(world.shownRequests.length, 0)
    })
  }
})
