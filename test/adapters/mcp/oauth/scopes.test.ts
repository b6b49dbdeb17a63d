import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { echo, echoed, given, type World } from "./world.ts"

/** The scopes of the authorization requests. */
const requestedScopes = ({ requests }: World) => requests.map((query) => query.get("scope"))

describe("the scope of an authorization request", () => {
  given("is that of the challenge", function* (world) {
    world.behaviour.challengedScope = "read"
    yield* world.authorize
    assert.deepStrictEqual(requestedScopes(world), ["read"])
  })

  given("is left out when neither server names one", function* (world) {
    world.behaviour.metadata = { scopes_supported: ["offline_access"] }
    yield* world.authorize
    assert.deepStrictEqual(requestedScopes(world), [null])
  })

  given("has offline_access where the authorization server knows it", function* (world) {
    world.behaviour.challengedScope = "read"
    world.behaviour.metadata = { scopes_supported: ["read", "offline_access"] }
    yield* world.authorize
    assert.deepStrictEqual(requestedScopes(world), ["read offline_access"])
    assert.deepInclude<object>(Object(world.registrations[0]), {
      scope: "read offline_access",
      application_type: "native"
    })
  })

  given("grows in an open session by what a request lacks", function* (world) {
    world.behaviour.challengedScope = "read"
    const session = yield* world.open()
    world.behaviour.requiredScope = "write"
    assert.deepStrictEqual(yield* echo(session), echoed)
    assert.deepStrictEqual(requestedScopes(world), ["read", "read write"])
  })

  given("is requested once when it is not granted", function* (world) {
    world.behaviour.challengedScope = "read"
    const session = yield* world.open()
    Object.assign(world.behaviour, { requiredScope: "write", grantedScope: "read" })
    assert.strictEqual((yield* Effect.flip(echo(session))).reason, "forbidden")
    assert.strictEqual((yield* Effect.flip(echo(session))).reason, "forbidden")
    assert.deepStrictEqual(requestedScopes(world), ["read", "read write"])
  })

  given("does not grow without a person", function* (world) {
    yield* world.authorize
    const session = yield* world.openNonInteractive()
    world.behaviour.requiredScope = "write"
    assert.strictEqual((yield* Effect.flip(echo(session))).reason, "forbidden")
    assert.strictEqual(world.requests.length, 1)
  })
})

describe("an MCP server that opens sessions without a token", () => {
  given("is authorized by the first request that needs one", function* (world) {
    world.behaviour.mcp = "open"
    const session = yield* world.open()
    world.behaviour.mcp = "fine"
    assert.deepStrictEqual(yield* echo(session), echoed)
    assert.strictEqual(world.shownRequests.length, 1)
  })
})
