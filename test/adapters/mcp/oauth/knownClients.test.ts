import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { makeGuarded } from "../../../fixtures/oauth.ts"
import { assertClean, echo, echoed, given, Logged } from "./world.ts"

const clientMetadataUrl = "https://desk.example/client.json"
const registered = { clientId: "desk", clientSecret: "s3cret-of-desk" }

describe("a client ID metadata document", () => {
  given("replaces a registration where the authorization server supports it", function* (world) {
    world.knownClients.set(clientMetadataUrl, undefined)
    world.behaviour.metadata = { client_id_metadata_document_supported: true }
    assert.deepStrictEqual(yield* echo(yield* world.open({ oauth: { clientMetadataUrl } })), echoed)
    assert.deepStrictEqual(world.registrations, [])
    assert.strictEqual(world.requests[0]?.get("client_id"), clientMetadataUrl)
  })

  given("is not used where the authorization server does not support it", function* (world) {
    assert.deepStrictEqual(yield* echo(yield* world.open({ oauth: { clientMetadataUrl } })), echoed)
    assert.strictEqual(world.registrations.length, 1)
  })
})

describe("a registered client", () => {
  given("is used instead of a registration, and its secret is neither stored nor logged", function* (world) {
    world.secrets.add(registered.clientSecret)
    world.knownClients.set(registered.clientId, registered.clientSecret)
    world.behaviour.registers = false
    yield* Effect.scoped(world.open({ registered }))
    world.expire()
    assert.deepStrictEqual(yield* echo(yield* world.open({ registered })), echoed)
    assert.strictEqual(world.shownRequests.length, 1)
    const { client } = (yield* world.stored) ?? {}
    assert.deepStrictEqual(client, { client_id: registered.clientId, issuer: world.issuer })
    assertClean(world, ...(yield* Logged))
  })

  given("is not presented to another authorization server than the first one", function* (world) {
    const other = yield* makeGuarded
    world.knownClients.set(registered.clientId, registered.clientSecret)
    other.knownClients.set(registered.clientId, registered.clientSecret)
    yield* Effect.scoped(world.open({ registered }))
    world.revoke()
    world.behaviour.namesAuthorizationServer = other.issuer
    assert.strictEqual((yield* Effect.flip(world.open({ registered }))).reason, "unauthorized")
    assert.deepStrictEqual([other.requests, other.tokenRequests, other.registrations], [[], [], []])
  })

  given("fails with a wrong secret, without a registration", function* (world) {
    world.knownClients.set(registered.clientId, "another secret")
    assert.strictEqual((yield* Effect.flip(world.open({ registered }))).reason, "unauthorized")
    assert.deepStrictEqual(world.registrations, [])
  })
})
