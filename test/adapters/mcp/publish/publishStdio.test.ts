import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Queue } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { McpSessionError, type McpSession } from "../../../../src/application/ports/McpSession.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import { overStreams } from "./clients.ts"
import { hostKinds, nextOf } from "./hosts.ts"

const lineOf = (message: object) => `${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`
const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "pipe", version: "0" } }
const initialize = lineOf({ id: 1, method: "initialize", params })
const call = lineOf({ id: 2, method: "tools/call", params: { name: "wait" } })

/** A session published over stdio whose only call runs until the test ends it. */
const makeWorld = Effect.gen(function* () {
  const server = yield* makeMemoryMcpServer()
  const started = yield* Deferred.make<void>()
  const result = yield* Deferred.make<JsonObject>()
  const closed = yield* Deferred.make<McpSessionError>()
  const inputEnded = yield* Deferred.make<void>()
  let isInterrupted = false
  const session: McpSession = {
    ...(yield* server.connect),
    callTool: () =>
      Effect.andThen(Deferred.succeed(started, undefined), Deferred.await(result)).pipe(
        Effect.onInterrupt(() => Effect.sync(() => void (isInterrupted = true)))
      ),
    closed: Deferred.await(closed)
  }
  const streams = yield* overStreams(session)
  const messages = yield* Queue.unbounded<JsonObject>()
  streams.stdout.on("data", (chunk) => {
    for (const line of String(chunk).trimEnd().split("\n")) Queue.offerUnsafe(messages, asObject(JSON.parse(line)))
  })
  streams.stdin.on("end", () => void Effect.runFork(Deferred.succeed(inputEnded, undefined)))
  return {
    ...streams,
    messages,
    // The call resumes this fiber before it counts as one in flight.
    started: Effect.andThen(
      Deferred.await(started),
      Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    ),
    inputEnded: Deferred.await(inputEnded),
    finish: Deferred.succeed(result, { content: [{ type: "text", text: "late" }] }),
    close: Deferred.succeed(closed, new McpSessionError({ reason: "closed", message: "the end" })),
    isInterrupted: () => isInterrupted
  }
})

const answerOf = (messages: Queue.Queue<JsonObject>, id: number) =>
  Effect.repeat(Queue.take(messages), { until: (message) => message["id"] === id })

describe("a session that is published over stdio", () => {
  it.effect("gives calls one second after the end of the input", () =>
    Effect.gen(function* () {
      const { inputEnded, isInterrupted, published, started, stdin } = yield* makeWorld
      stdin.end(initialize + call)
      yield* started
      yield* inputEnded
      yield* TestClock.adjust("100 millis")
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual([isInterrupted(), published.pollUnsafe()], [false, undefined])
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(published)
    })
  )

  it.effect("answers a call that ends within a second after the end of the session, and then fails", () =>
    Effect.gen(function* () {
      const { close, finish, messages, published, started, stdin } = yield* makeWorld
      stdin.write(initialize + call)
      yield* started
      yield* close
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(published.pollUnsafe())
      yield* finish
      assert.property(yield* answerOf(messages, 2), "result")
      assert.strictEqual((yield* Effect.flip(Fiber.join(published))).message, "the end")
    })
  )

  it.effect("fails one second after the end of the session beside a call that runs on", () =>
    Effect.gen(function* () {
      const { close, published, started, stdin } = yield* makeWorld
      stdin.write(initialize + call)
      yield* started
      yield* close
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.flip(Fiber.join(published))).message, "the end")
    })
  )

  it.live("rejects a message above 16 MiB with its id, and answers the next one", () =>
    Effect.gen(function* () {
      const { messages, stdin } = yield* makeWorld
      const lengthOfRest = lineOf({ id: 3, method: "ping", params: { x: "" } }).length - 1
      const sized = (id: number, bytes: number) =>
        lineOf({ id, method: "ping", params: { x: "x".repeat(bytes - lengthOfRest) } })
      stdin.write(initialize)
      stdin.write(sized(3, 16 * 1024 * 1024))
      stdin.write(sized(4, 16 * 1024 * 1024 + 1))
      stdin.write(lineOf({ id: 5, method: "ping" }))
      const answers = yield* Queue.takeN(messages, 4)
      const codeOf = (id: number) => asObject(answers.find((answer) => answer["id"] === id)?.["error"])["code"]
      assert.deepStrictEqual([3, 4, 5].map(codeOf), [undefined, -32600, undefined])
    })
  )
})

const modernKinds = hostKinds.filter(([, era]) => era === "2026-07-28")
const listenTo = (uris: ReadonlyArray<string>) => ({ notifications: { resourceSubscriptions: uris } })

describe.each(modernKinds)("a subscription of a host of %s", (_name, _era, open) => {
  it.live("ends when the host cancels it, and others stay", () =>
    Effect.gen(function* () {
      const server = yield* makeMemoryMcpServer()
      const host = yield* open(yield* server.connect)
      const acknowledged = nextOf(host, "notifications/subscriptions/acknowledged")
      const first = yield* Effect.forkChild(host.request("subscriptions/listen", listenTo(["test://one"])))
      yield* acknowledged
      yield* Effect.forkChild(host.request("subscriptions/listen", listenTo(["test://two"])))
      yield* acknowledged
      assert.deepStrictEqual(server.subscriptions(), ["test://one", "test://two"])
      yield* Fiber.interrupt(first)
      yield* Effect.repeat(Effect.sleep(5), { until: () => server.subscriptions().length === 1 })
      assert.deepStrictEqual(server.subscriptions(), ["test://two"])
      yield* server.notify({ _tag: "ResourceUpdated", uri: "test://two" })
      const { params: updated } = yield* nextOf(host, "notifications/resources/updated")
      assert.strictEqual(asObject(updated)["uri"], "test://two")
    })
  )

  it.live("covers 1024 resources", () =>
    Effect.gen(function* () {
      const server = yield* makeMemoryMcpServer()
      const host = yield* open(yield* server.connect)
      const uris = Array.from({ length: 1025 }, (_value, index) => `test://${index}`)
      const { error } = yield* host.request("subscriptions/listen", listenTo(uris))
      assert.include(asObject(error)["message"], "more than 1024")
      assert.deepStrictEqual(server.subscriptions(), [])
      yield* Effect.forkChild(host.request("subscriptions/listen", listenTo(uris.slice(1))))
      yield* nextOf(host, "notifications/subscriptions/acknowledged")
      assert.lengthOf(server.subscriptions(), 1024)
    })
  )
})
