import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Latch, Scope } from "effect"
import {
  decodeListenRequest,
  makeChangeFeed,
  makeResourceSubscriptions
} from "../../../../src/adapters/mcp/publish/ChangeFeed.ts"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { type McpSession, McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import { resource } from "../../../conformance/members.ts"

/** The most subscriptions of one client that docs/limits.md states. */
const max = 1024

/** A published server, and a function that makes the subscriptions of a client. */
const published = Effect.fnUntraced(function* (change: (session: McpSession) => McpSession = (session) => session) {
  const memory = yield* makeMemoryMcpServer({ resources: [resource("a:"), resource("b:")] })
  const feed = yield* makeChangeFeed(change(yield* memory.connect))
  return { client: makeResourceSubscriptions(feed), watched: () => memory.subscriptions().toSorted() }
})

describe("a resource subscription of a client", () => {
  it.effect("shares one watch with the others until the last client has unsubscribed", () =>
    Effect.gen(function* () {
      const { client, watched } = yield* published()
      const [one, other] = [yield* client, yield* client]
      for (const uri of ["a:", "a:", "b:"]) yield* one.add(uri)
      yield* other.add("a:")
      assert.deepStrictEqual(watched(), ["a:", "b:"])
      yield* one.remove("a:")
      yield* one.remove("a:")
      assert.deepStrictEqual(
        [one.has("a:"), one.has("b:"), other.has("a:"), watched()],
        [false, true, true, ["a:", "b:"]]
      )
      yield* other.remove("a:")
      assert.deepStrictEqual([other.has("a:"), watched()], [false, ["b:"]])
      yield* other.add("a:")
      assert.deepStrictEqual([other.has("a:"), watched()], [true, ["a:", "b:"]])
    })
  )

  it.effect("ends when the client has gone", () =>
    Effect.gen(function* () {
      const { client, watched } = yield* published()
      const scope = yield* Scope.make()
      const { add } = yield* Scope.provide(client, scope)
      yield* add("a:")
      yield* Scope.close(scope, Exit.void)
      assert.isEmpty(watched())
    })
  )

  it.effect(`is one of ${max} at most, and leaves room at its end`, () =>
    Effect.gen(function* () {
      const { client } = yield* published()
      const { add, remove } = yield* client
      for (let at = 0; at < max; at++) yield* add(`a:${at}`)
      yield* add("a:0")
      assert.strictEqual((yield* Effect.flip(add("b:"))).message, `more than ${max} resource subscriptions`)
      yield* remove("a:0")
      yield* add("b:")
    })
  )

  it.effect("follows the order of the requests of its client, also while the server is slow", () =>
    Effect.gen(function* () {
      const gate = yield* Latch.make(false)
      const { client, watched } = yield* published((session) => ({
        ...session,
        watch: (wanted) =>
          wanted.uris.length > 0 ? Effect.andThen(gate.await, session.watch(wanted)) : session.watch(wanted)
      }))
      const { add, has, remove } = yield* client
      const requests = [add("a:"), add("a:"), remove("a:"), add("b:"), remove("b:"), add("b:")]
      const running = yield* Effect.forEach(requests, (request) =>
        Effect.forkChild(request, { startImmediately: true })
      )
      yield* gate.open
      yield* Effect.forEach(running, Fiber.join)
      assert.deepStrictEqual([has("a:"), has("b:"), watched()], [false, true, ["b:"]])
      yield* remove("b:")
      assert.isEmpty(watched())
    })
  )

  it.effect("is not kept when the server rejects it, and can be tried again", () =>
    Effect.gen(function* () {
      let isRejecting = true
      const { client, watched } = yield* published((session) => ({
        ...session,
        watch: (wanted) =>
          isRejecting && wanted.uris.length > 0
            ? Effect.fail(new McpSessionError({ reason: "protocol", message: "not now" }))
            : session.watch(wanted)
      }))
      const { add, has } = yield* client
      assert.strictEqual((yield* Effect.flip(add("a:"))).message, "not now")
      assert.isFalse(has("a:"))
      isRejecting = false
      yield* add("a:")
      assert.deepStrictEqual([has("a:"), watched()], [true, ["a:"]])
    })
  )

  it("is each text of a request to listen, once", () => {
    const listen = (resourceSubscriptions: unknown) =>
      decodeListenRequest({ method: "subscriptions/listen", params: { notifications: { resourceSubscriptions } } })
    assert.deepStrictEqual(listen(["a:", "b:", "a:", 3]), ["a:", "b:"])
    assert.deepStrictEqual(listen("a:"), [])
    assert.isUndefined(decodeListenRequest({ method: "tools/list" }))
    assert.isUndefined(decodeListenRequest("subscriptions/listen"))
  })
})
