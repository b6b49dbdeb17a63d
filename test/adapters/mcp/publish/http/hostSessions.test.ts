import { request as httpRequest } from "node:http"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../../src/adapters/memory/MemoryMcp.ts"
import type { PublishHttpOptions } from "../../../../../src/adapters/mcp/publish/http/publishHttp.ts"
import { publishAt } from "../hosts.ts"

const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" }

/** A published session, and what hosts of 2025-11-25 do with it. */
const makeWorld = Effect.fnUntraced(function* (options: Partial<PublishHttpOptions> = {}) {
  const server = yield* makeMemoryMcpServer()
  const url = yield* publishAt(yield* server.connect, options)
  const send = (session: string | undefined, message: object | undefined, method = "POST") =>
    Effect.promise(async () => {
      const response = await fetch(url, {
        method,
        headers: { ...headers, ...(session !== undefined && { "Mcp-Session-Id": session }) },
        ...(message !== undefined && { body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }) })
      })
      await response.text()
      return response
    })
  const clientInfo = { name: "raw", version: "0" }
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }
  return {
    server,
    url,
    begin: Effect.map(send(undefined, { method: "initialize", params }), (response) =>
      String(response.headers.get("mcp-session-id"))
    ),
    /** The status of a ping. A request before it lets the server see the end of all earlier ones. */
    ping: (session: string) => Effect.map(send(session, { method: "ping" }), ({ status }) => status),
    settle: Effect.asVoid(send(undefined, { method: "ping" })),
    subscribe: (session: string, uri: string) => send(session, { method: "resources/subscribe", params: { uri } }),
    leave: (session: string) => send(session, undefined, "DELETE")
  }
})

const released = (subscriptions: () => ReadonlyArray<string>) =>
  Effect.repeat(Effect.sleep(5), { until: () => subscriptions().length === 0 })

describe("the session of a host of 2025-11-25", () => {
  it.effect("lasts 30 minutes by default", () =>
    Effect.gen(function* () {
      const { begin, ping, settle } = yield* makeWorld()
      const [used, unused] = [yield* begin, yield* begin]
      yield* settle
      yield* TestClock.adjust("1799999 millis")
      assert.strictEqual(yield* ping(used), 200)
      yield* settle
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual([yield* ping(unused), yield* ping(used)], [404, 200])
    })
  )

  it.effect("lasts for its time after its latest request", () =>
    Effect.gen(function* () {
      const { begin, ping, settle } = yield* makeWorld({ idleTimeout: "1 minute" })
      const session = yield* begin
      for (let requests = 0; requests < 3; requests++) {
        yield* settle
        yield* TestClock.adjust("59999 millis")
        assert.strictEqual(yield* ping(session), 200)
      }
      yield* settle
      // Expired sessions are closed four times within this time.
      yield* TestClock.adjust("75 seconds")
      assert.strictEqual(yield* ping(session), 404)
    })
  )

  it.effect("lasts as long as its stream is open", () =>
    Effect.gen(function* () {
      const { begin, ping, url } = yield* makeWorld({ idleTimeout: "1 minute" })
      const session = yield* begin
      yield* Effect.acquireRelease(
        Effect.promise(async () => {
          const controller = new AbortController()
          await fetch(url, {
            signal: controller.signal,
            headers: { Accept: "text/event-stream", "Mcp-Session-Id": session }
          })
          return controller
        }),
        (controller) => Effect.sync(() => controller.abort())
      )
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(yield* ping(session), 200)
    })
  )

  it.live("ends with the host's DELETE, with its subscriptions and its place", () =>
    Effect.gen(function* () {
      const { begin, leave, ping, server, subscribe } = yield* makeWorld({ maxSessions: 2 })
      const [kept, gone] = [yield* begin, yield* begin]
      yield* subscribe(gone, "test://one")
      assert.deepStrictEqual(server.subscriptions(), ["test://one"])
      yield* leave(gone)
      yield* released(server.subscriptions)
      yield* begin
      assert.deepStrictEqual([yield* ping(gone), yield* ping(kept)], [404, 200])
    })
  )

  it.live("ends its subscriptions when it is evicted", () =>
    Effect.gen(function* () {
      const { begin, server, subscribe } = yield* makeWorld({ maxSessions: 1 })
      yield* subscribe(yield* begin, "test://one")
      yield* begin
      yield* released(server.subscriptions)
    })
  )

  it.effect("ends its subscriptions when it expires", () =>
    Effect.gen(function* () {
      const { begin, server, settle, subscribe } = yield* makeWorld({ idleTimeout: "1 minute" })
      yield* subscribe(yield* begin, "test://one")
      yield* settle
      yield* TestClock.adjust("75 seconds")
      yield* Effect.repeat(settle, { until: () => server.subscriptions().length === 0 })
    })
  )

  it.live("is one of 256", () =>
    Effect.gen(function* () {
      const { begin, ping } = yield* makeWorld()
      const [first, second] = [yield* begin, yield* begin]
      yield* Effect.forEach(Array.from({ length: 254 }), () => begin, { concurrency: 16, discard: true })
      assert.strictEqual(yield* ping(first), 200)
      yield* begin
      assert.deepStrictEqual([yield* ping(second), yield* ping(first)], [404, 200])
    })
  )
})

describe("a message to a published session", () => {
  it.live.each([
    [16 * 1024 * 1024, undefined],
    [16 * 1024 * 1024 + 1, 413]
  ])("of %i bytes is answered before its body with the status %s", ([bytes, expected]) =>
    Effect.gen(function* () {
      const { url } = yield* makeWorld()
      const status = yield* Effect.callback<number | undefined>((resume) => {
        const withLength = { ...headers, "Content-Length": String(bytes), Expect: "100-continue" }
        const request = httpRequest(url, { method: "POST", headers: withLength }, ({ statusCode }) =>
          resume(Effect.succeed(statusCode))
        )
        request.on("error", () => undefined)
        // An accepted message is read: then its first bytes do not decide.
        request.on("continue", () => void request.write("{", () => setImmediate(() => request.destroy())))
        request.on("close", () => resume(Effect.undefined))
        request.flushHeaders()
      })
      assert.strictEqual(status, expected)
    })
  )
})
