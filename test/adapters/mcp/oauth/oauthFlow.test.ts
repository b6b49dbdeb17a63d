import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { Deferred, Effect, Exit, Fiber, Layer, Redacted, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as McpClient from "../../../../src/adapters/mcp/client/McpClient.ts"
import {
  type AuthorizationRequest,
  logAuthorizationRequest,
  makeAuthorizer
} from "../../../../src/adapters/mcp/oauth/Authorizer.ts"
import { McpConnector } from "../../../../src/application/ports/McpSession.ts"
import { decodeEndpoint, withParameterDefaults } from "../../../../src/domain/config/endpointParameters.ts"
import { CredentialStore, CredentialsUnavailable } from "../../../../src/application/ports/CredentialStore.ts"
import { makeGuarded } from "../../../fixtures/oauth.ts"
import { assertClean, browse, echo, echoed, given, Live, Logged, makeWorld } from "./world.ts"

describe("MCP server with OAuth", () => {
  for (const [title, name, kind] of [
    ["the older transport, when it offers no other one", "sse", "sse"],
    ["MCP 2026-07-28, when it knows no earlier revision", "modern", "streamable"]
  ] as const) {
    given(`accepts the tokens over ${title}`, function* (world) {
      const url = world[name]
      // The client of this test knows no later revision.
      yield* Effect.exit(Effect.scoped(world.open({ kind, url })))
      const parameters = withParameterDefaults("streamable", { url: url.href })
      const endpoint = Result.getOrThrow(decodeEndpoint("streamable", parameters))
      const session = yield* McpConnector.use(({ connect }) => connect("guarded", endpoint)).pipe(
        Effect.provide(Layer.provide(McpClient.layerWithOAuth(), NodeServices.layer)),
        Effect.provideService(CredentialStore, world.store)
      )
      assert.deepStrictEqual(yield* echo(session), echoed)
      assert.strictEqual(world.shownRequests.length, 1)
    })
  }

  for (const kind of ["streamable", "sse"] as const) {
    given(`accepts a session after interactive authorization (${kind})`, function* (world) {
      const session = yield* world.open({ kind })
      assert.deepStrictEqual(yield* echo(session), echoed)
      assert.deepStrictEqual([world.shownRequests.length, world.registrations.length], [1, 1])
    })

    given(`accepts valid tokens without another authorization (${kind})`, function* (world) {
      yield* Effect.scoped(world.open({ kind }))
      assert.deepStrictEqual(yield* echo(yield* world.openNonInteractive(kind)), echoed)
      assert.deepStrictEqual([world.shownRequests.length, world.registrations.length], [1, 1])
    })

    given(`is unauthorized at once without interactive authorization (${kind})`, function* (world) {
      const failure = yield* Effect.flip(world.openNonInteractive(kind))
      assert.strictEqual(failure.reason, "unauthorized")
      assert.strictEqual(world.headers.authorization.length, 0)
    })

    given(`gets refreshed tokens before the session opens (${kind})`, function* (world) {
      yield* Effect.scoped(world.open({ kind }))
      world.expire()
      assert.deepStrictEqual(yield* echo(yield* world.openNonInteractive(kind)), echoed)
      assert.strictEqual(world.shownRequests.length, 1)
    })

    given(`gets refreshed tokens in an open session (${kind})`, function* (world) {
      const session = yield* world.open({ kind })
      world.expire()
      assert.deepStrictEqual(yield* echo(session), echoed)
      assert.strictEqual(world.shownRequests.length, 1)
    })

    given(`is forbidden after a rejected refresh, which removes the tokens (${kind})`, function* (world) {
      const session = yield* world.open({ kind })
      world.revoke()
      assert.strictEqual((yield* Effect.flip(echo(session))).reason, "forbidden")
      assert.strictEqual((yield* Effect.flip(echo(session))).reason, "forbidden")
      assert.isUndefined((yield* world.stored)?.["tokens"])
    })

    given(`is forbidden when the refresh for a new session is rejected (${kind})`, function* (world) {
      yield* Effect.scoped(world.open({ kind }))
      world.revoke()
      const failure = yield* Effect.flip(world.openNonInteractive(kind))
      assert.strictEqual(failure.reason, "forbidden")
      assert.include(failure.message, "cannot be refreshed")
      assert.isUndefined((yield* world.stored)?.["tokens"])
    })

    given(`is forbidden when the scope is insufficient (${kind})`, function* (world) {
      yield* Effect.scoped(world.open({ kind }))
      world.behaviour.mcp = "forbids"
      assert.strictEqual((yield* Effect.flip(world.open({ kind }))).reason, "forbidden")
      assert.strictEqual(world.shownRequests.length, 1)
    })

    given(`is unavailable while its authorization server is down, which keeps the tokens (${kind})`, function* (world) {
      yield* Effect.scoped(world.open({ kind }))
      world.expire()
      world.behaviour.tokens = "down"
      const failure = yield* Effect.flip(world.open({ kind }))
      assert.strictEqual(failure.reason, "unavailable")
      assert.include(failure.message, "authorization server does not respond")
      world.behaviour.tokens = "fine"
      assert.deepStrictEqual(yield* echo(yield* world.openNonInteractive(kind)), echoed)
      assert.strictEqual(world.shownRequests.length, 1)
    })
  }

  given("receives a unique PKCE challenge and state per authorization", function* (world) {
    yield* world.authorize
    world.revoke()
    yield* world.authorize
    const [one, other] = world.requests.map((query) => ["state", "code_challenge"].map((name) => query.get(name) ?? ""))
    for (const [index, text] of (one ?? []).entries()) {
      assert.isAtLeast(text.length, 43)
      assert.notStrictEqual(text, other?.[index])
    }
    assert.strictEqual(world.requests[0]?.get("code_challenge_method"), "S256")
  })

  given("starts interactive authorization after a rejected refresh", function* (world) {
    yield* world.authorize
    world.revoke()
    assert.deepStrictEqual(yield* echo(yield* world.open()), echoed)
    assert.deepStrictEqual([world.shownRequests.length, world.registrations.length], [2, 2])
  })

  given("starts interactive authorization when a token without refresh token expires", function* (world) {
    world.behaviour.renewable = false
    yield* world.authorize
    world.expire()
    assert.strictEqual((yield* Effect.flip(world.openNonInteractive())).reason, "unauthorized")
    yield* world.open()
    assert.strictEqual(world.shownRequests.length, 2)
  })

  given("receives one refresh for all waiting calls", function* (world) {
    const session = yield* world.open()
    world.expire()
    const before = world.tokenRequests.length
    const calls = Array.from({ length: 20 }, () => echo(session))
    assert.strictEqual((yield* Effect.all(calls, { concurrency: "unbounded" })).length, 20)
    assert.strictEqual(world.tokenRequests.length, before + 1)
  })

  given("fails all calls that wait for a rejected refresh", function* (world) {
    const session = yield* world.open()
    world.revoke()
    const calls = Array.from({ length: 20 }, () => Effect.flip(echo(session)))
    const failures = yield* Effect.all(calls, { concurrency: "unbounded" })
    assert.deepStrictEqual([...new Set(failures.map(({ reason }) => reason))], ["forbidden"])
  })

  given("uses the tokens that another session refreshed", function* (world) {
    const one = yield* world.open()
    const other = yield* world.openNonInteractive()
    world.expire()
    yield* echo(one)
    const before = world.tokenRequests.length
    assert.deepStrictEqual(yield* echo(other), echoed)
    assert.strictEqual(world.tokenRequests.length, before)
  })

  given("closes only after a started refresh is stored", function* (world) {
    yield* world.authorize
    world.expire()
    const arrived = yield* Deferred.make<void>()
    const { promise, resolve: release } = Promise.withResolvers<void>()
    world.behaviour.hold = () => {
      Deferred.doneUnsafe(arrived, Exit.void)
      return promise
    }
    const computer = yield* Scope.make()
    const withAuthorization = yield* makeAuthorizer().pipe(
      Effect.provideService(CredentialStore, world.store),
      Scope.provide(computer)
    )
    const endpoint = { url: world.streamable.href, headers: null }
    const asking = yield* Effect.forkChild(
      withAuthorization("guarded", endpoint, (wrap) => Effect.promise(() => wrap(fetch)(world.streamable)))
    )
    yield* Deferred.await(arrived)
    yield* Fiber.interrupt(asking)
    const leaving = yield* Effect.forkChild(Scope.close(computer, Exit.void))
    yield* Effect.yieldNow
    release()
    yield* Fiber.join(leaving)
    assert.deepStrictEqual(yield* echo(yield* world.openNonInteractive()), echoed)
  })

  given("uses the tokens that another process refreshed after a rejected refresh", function* (world) {
    yield* world.authorize
    world.expire()
    world.behaviour.tokens = "babbles"
    let reads = 0
    const elsewhere = Effect.suspend(() => {
      reads += 1
      if (reads < 3) return Effect.void
      world.behaviour.tokens = "fine"
      return Effect.orDie(world.authorize)
    })
    const store = {
      ...world.store,
      read: (server: string) => Effect.andThen(elsewhere, world.store.read(server))
    }
    assert.deepStrictEqual(yield* echo(yield* world.open({ oauth: {}, store })), echoed)
    assert.deepStrictEqual([reads, world.shownRequests.length], [3, 1])
  })

  given("fails when it rejects a fresh token, without an endless loop", function* (world) {
    world.behaviour.mcp = "distrusts"
    const failure = yield* Effect.flip(world.open())
    assert.strictEqual(failure.reason, "unauthorized")
    assert.include(failure.message, "rejected the token")
    assert.strictEqual(world.shownRequests.length, 1)
  })

  given("is unavailable when the tokens cannot be stored", function* (world) {
    yield* world.authorize
    world.expire()
    const full = new CredentialsUnavailable({ message: "no space left" })
    const store = { ...world.store, write: () => Effect.fail(full) }
    const failure = yield* Effect.flip(world.open({ store }))
    assert.strictEqual(failure.reason, "unavailable")
    assert.include(failure.message, "no space left")
  })

  given("is unavailable when the credentials cannot be read", function* (world) {
    yield* world.store.write("guarded", Redacted.make('{"url":1,"tokens":"s3cret"}'))
    const failure = yield* Effect.flip(world.open())
    assert.strictEqual(failure.reason, "unavailable")
    assert.include(failure.message, 'stored credentials of "guarded"')
    assert.notInclude(failure.message, "s3cret")
  })

  for (const [tokens, kept] of [
    ["refuses with 200", true],
    ["gives nonsense", true],
    ["babbles", false],
    ["forgets its client", false]
  ] as const) {
    given(`is forbidden when its authorization server ${tokens}; are the tokens kept: ${kept}`, function* (world) {
      yield* world.authorize
      world.expire()
      world.behaviour.tokens = tokens
      assert.strictEqual((yield* Effect.flip(world.openNonInteractive())).reason, "forbidden")
      assert.strictEqual((yield* world.stored)?.["tokens"] !== undefined, kept)
    })
  }

  given("registers the client again when the authorization server dropped it", function* (world) {
    yield* world.authorize
    world.expire()
    world.behaviour.tokens = "forgets its client"
    yield* Effect.flip(world.openNonInteractive())
    world.behaviour.tokens = "fine"
    yield* world.authorize
    assert.strictEqual(world.registrations.length, 2)
  })

  given("fails when its authorization server sends an endless response", function* (world) {
    world.behaviour.tokens = "floods"
    assert.include((yield* Effect.flip(world.open())).message, "authorization server rejected the request")
  })

  given("reports an authorization server without dynamic registration", function* (world) {
    world.behaviour.registers = false
    const failure = yield* Effect.flip(world.open())
    assert.strictEqual(failure.reason, "unauthorized")
    assert.include(failure.message, "does not support dynamic client registration")
  })
})

describe("interactive authorization", () => {
  given("logs the URL by default", function* () {
    yield* logAuthorizationRequest({ server: "guarded", url: "https://issuer.example/authorize?state=s" })
    assert.include((yield* Logged).join(), '"url":"https://issuer.example/authorize?state=s"')
  })

  const callback = ({ url }: AuthorizationRequest) => new URL(url).searchParams.get("redirect_uri") ?? ""
  const isListening = (url: string) =>
    Effect.promise(() =>
      fetch(url).then(
        () => true,
        () => false
      )
    )

  given("shows the server name, then a page without secrets", function* (world) {
    yield* world.authorize
    assert.strictEqual(world.shownRequests[0]?.server, "guarded")
    assert.deepStrictEqual(
      world.pages.map(({ status }) => status),
      [200]
    )
    assertClean(world, ...world.pages.map(({ text }) => text))
  })

  given("reports a declined authorization", function* (world) {
    world.behaviour.declines = true
    const failure = yield* Effect.flip(world.open())
    assert.deepStrictEqual([failure.reason, failure.message], ["unauthorized", "the authorization was declined"])
    assert.include(world.pages[0]?.text ?? "", "declined")
  })

  it.effect.each([
    ["five minutes by default", {}, 300],
    ["the configured time", { authorizationTimeout: "1 minute" }, 60]
  ] as const)("times out after %s", ([, options, seconds]) =>
    Effect.gen(function* () {
      const world = yield* makeWorld
      const requests = yield* Deferred.make<AuthorizationRequest>()
      const authorize = (request: AuthorizationRequest) => Effect.asVoid(Deferred.succeed(requests, request))
      const opening = yield* Effect.forkChild(Effect.flip(world.open({ oauth: { authorize, ...options } })))
      const url = callback(yield* Deferred.await(requests))
      yield* TestClock.adjust(`${seconds - 1} seconds`)
      assert.isTrue(yield* isListening(url))
      yield* TestClock.adjust("1 second")
      const { message, reason } = yield* Fiber.join(opening)
      assert.deepStrictEqual([reason, message], ["unauthorized", `authorization timeout after ${seconds} seconds`])
      assert.isFalse(yield* isListening(url))
    }).pipe(Effect.scoped, Effect.provide(Live))
  )

  given("continues for the next session after an interruption", function* (world) {
    const requests = yield* Deferred.make<AuthorizationRequest>()
    const authorize = (request: AuthorizationRequest) => Effect.asVoid(Deferred.succeed(requests, request))
    const written = yield* Deferred.make<void>()
    const store = {
      ...world.store,
      write: (...given: Parameters<typeof world.store.write>) =>
        Effect.tap(world.store.write(...given), Deferred.succeed(written, undefined))
    }
    const opening = yield* Effect.forkChild(Effect.scoped(world.open({ oauth: { authorize }, store })))
    const { url } = yield* Deferred.await(requests)
    yield* Fiber.interrupt(opening)
    assert.strictEqual((yield* browse(url)).status, 200)
    yield* Deferred.await(written)
    assert.deepStrictEqual(yield* echo(yield* world.openNonInteractive()), echoed)
  })

  given("runs once for two sessions", function* (world) {
    const both = yield* Effect.all([world.open(), world.open()], { concurrency: "unbounded" })
    assert.deepStrictEqual(yield* Effect.forEach(both, echo), [echoed, echoed])
    assert.strictEqual(world.shownRequests.length, 1)
  })

  it.live("stops with the Computer", () =>
    Effect.gen(function* () {
      const requests = yield* Deferred.make<AuthorizationRequest>()
      const authorize = (request: AuthorizationRequest) => Effect.asVoid(Deferred.succeed(requests, request))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const world = yield* makeWorld
          yield* Effect.forkChild(Effect.scoped(world.open({ oauth: { authorize } })))
          assert.isTrue(yield* isListening(callback(yield* Deferred.await(requests))))
        })
      )
      assert.isFalse(yield* isListening(callback(yield* Deferred.await(requests))))
    }).pipe(Effect.provide(Live))
  )

  given("stops listening after the redirect", function* (world) {
    yield* world.authorize
    assert.isFalse(yield* isListening(callback(world.shownRequests[0] ?? assert.fail("no request"))))
  })

  given("waits for the redirect although `authorize` never returns", function* (world) {
    const show = (request: AuthorizationRequest) => Effect.andThen(browse(request.url), Effect.never)
    assert.deepStrictEqual(yield* echo(yield* world.open({ oauth: { authorize: show } })), echoed)
  })

  for (const requestsAt of ["file:///etc/passwd", "smb://evil/x", "ms-settings:x"]) {
    given(`never opens ${requestsAt}`, function* (world) {
      world.behaviour.requestsAt = requestsAt
      const failure = yield* Effect.flip(world.open())
      assert.strictEqual(failure.reason, "unauthorized")
      assert.include(failure.message, "https is required")
      assert.strictEqual(world.shownRequests.length, 0)
    })
  }
})

describe("OAuth secret", () => {
  given("is sent only to the URL it was issued for", function* (world) {
    yield* world.authorize
    const elsewhere = yield* makeGuarded
    const failure = yield* Effect.flip(world.open({ url: elsewhere.streamable, oauth: { authorizationTimeout: 0 } }))
    assert.strictEqual(failure.reason, "unauthorized")
    assert.isTrue(elsewhere.headers.mcp.length > 0)
    assert.isTrue(elsewhere.headers.mcp.every(({ authorization }) => authorization === undefined))
  })

  given("leaves a configured Authorization header unchanged", function* (world) {
    yield* world.authorize
    world.headers.mcp.length = 0
    const failure = yield* Effect.flip(world.open({ headers: { authorization: "Bearer mine" } }))
    assert.strictEqual(failure.reason, "unauthorized")
    assert.deepStrictEqual(
      world.headers.mcp.map(({ authorization }) => authorization),
      ["Bearer mine"]
    )
    assert.strictEqual(world.shownRequests.length, 1)
  })

  given("keeps configured headers away from the authorization server", function* (world) {
    yield* world.open({ headers: { "X-Key": "k" } })
    const { authorization, mcp } = world.headers
    assert.isTrue(authorization.length > 0 && authorization.every((one) => one["x-key"] === undefined))
    assert.isTrue(mcp.length > 0 && mcp.every((one) => one["x-key"] === "k"))
  })

  given("is not logged on success", function* (world) {
    const session = yield* world.open()
    world.expire()
    yield* echo(session)
    const lines = yield* Logged
    assert.isTrue(lines.some((line) => line.includes("OAuth tokens refreshed")))
    assertClean(
      world,
      ...lines,
      ...world.requests.map((query) => query.get("state") ?? "x").filter((state) => lines.join().includes(state))
    )
  })

  for (const tokens of ["babbles", "down", "gives nonsense", "forgets its client"] as const) {
    given(`is not logged or reported when a refresh ${tokens}`, function* (world) {
      const session = yield* world.open()
      world.expire()
      world.behaviour.tokens = tokens
      const failures = [yield* Effect.flip(echo(session)), yield* Effect.flip(world.openNonInteractive())]
      assertClean(world, ...failures.map(({ message }) => message), ...(yield* Logged))
    })

    given(`is not logged or reported when an authorization ${tokens}`, function* (world) {
      world.behaviour.tokens = tokens
      const failure = yield* Effect.flip(world.open())
      assert.strictEqual(failure.reason, tokens === "down" ? "unavailable" : "unauthorized")
      assertClean(world, failure.message, ...(yield* Logged))
    })
  }

  given("is not logged or reported when the MCP server echoes the request", function* (world) {
    const session = yield* world.open()
    for (const mcp of ["babbles", "forbids", "distrusts"] as const) {
      world.behaviour.mcp = mcp
      const failure = yield* Effect.flip(echo(session))
      assertClean(world, failure.message, ...(yield* Logged))
    }
  })
})
