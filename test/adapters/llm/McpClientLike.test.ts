import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { McpClientError } from "../../../src/adapters/llm/McpClientError.ts"
import { makeMcpClient, withSignal } from "../../../src/adapters/llm/McpClientLike.ts"
import { dot, giveUp, makeTools } from "./tools.ts"
import { effectWith } from "../../testWith.ts"

const names = ["echo", "paint", "measure", "break", "refuse", "step", "wait"]

const started = Effect.gen(function* () {
  const tools = yield* makeTools
  return { ...tools, client: yield* makeMcpClient(tools.session) }
})
const effect = effectWith(started)

/** The rejection of a promise. */
const rejection = (promise: Promise<unknown>) =>
  Effect.promise(() =>
    promise.then(
      () => assert.fail("expected a rejection"),
      (error: unknown) => error
    )
  )

const failure = (promise: Promise<unknown>) =>
  Effect.map(rejection(promise), (error) =>
    error instanceof McpClientError ? error : assert.fail(`no McpClientError: ${String(error)}`)
  )

describe("McpClientLike", () => {
  effect("lists one page of tools unchanged", function* ({ client }) {
    const { nextCursor, tools } = yield* Effect.promise(() => client.listTools())
    assert.strictEqual(nextCursor, "2")
    assert.deepStrictEqual(tools[0], {
      name: "echo",
      description: "Tool echo",
      inputSchema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
      annotations: { readOnlyHint: true },
      _meta: { "vendor/hint": "fast" }
    })
  })

  effect("continues at a cursor", function* ({ client }) {
    const { tools } = yield* Effect.promise(() => client.listTools({ cursor: "2" }))
    assert.deepStrictEqual(
      tools.map(({ name }) => name),
      ["measure", "break"]
    )
  })

  effect("lists the tools of all pages", function* ({ client }) {
    const tools = yield* Effect.promise(() => client.allTools())
    assert.deepStrictEqual(
      tools.map(({ name }) => name),
      names
    )
  })

  effect("omits invalid tools and completes a schema without type", function* ({ client, server }) {
    const run = () => Effect.succeed({})
    yield* server.setTools([
      { definition: { name: "bare" }, run },
      { definition: { name: "untyped", inputSchema: {} }, run }
    ])
    assert.deepStrictEqual(yield* Effect.promise(() => client.allTools()), [
      { name: "untyped", inputSchema: { type: "object" } }
    ])
  })

  effect("calls a tool and gives its result untouched", function* ({ client }) {
    const result = yield* Effect.promise(() => client.callTool({ name: "echo", arguments: { text: "hello" } }))
    assert.deepStrictEqual(result, { content: [{ type: "text", text: "hello" }], _meta: { "x/y": 1 } })
  })

  const results = [
    ["returns images", "paint", { content: [{ type: "image", data: dot, mimeType: "image/png" }] }],
    ["returns a tool failure as a result", "break", { content: [{ type: "text", text: "it broke" }], isError: true }]
  ] as const
  it.effect.each(results)("%s", ([, name, expected]) =>
    Effect.gen(function* () {
      const { client } = yield* started
      assert.deepStrictEqual<unknown>(yield* Effect.promise(() => client.callTool({ name })), expected)
    })
  )

  effect("fails with the code and the message of the peer", function* ({ client }) {
    const { code, message } = yield* failure(client.callTool({ name: "refuse" }))
    assert.deepStrictEqual([code, message], [-32602, "no such screw"])
  })

  effect("rejects a result without content blocks", function* ({ client, server }) {
    yield* server.setTools([{ definition: { name: "odd" }, run: () => Effect.succeed({ content: ["just words"] }) }])
    const { code, message } = yield* failure(client.callTool({ name: "odd" }))
    assert.strictEqual(code, -32603)
    assert.include(message, "'odd'")
  })

  effect("reports progress", function* ({ client }) {
    const received: Array<unknown> = []
    const onprogress = (progress: unknown) => void received.push(progress)
    yield* Effect.promise(() => client.callTool({ name: "step" }, undefined, { onprogress }))
    assert.deepStrictEqual(received, [{ progress: 1, total: 2 }])
  })

  effect("returns the result although the progress listener throws", function* ({ client }) {
    const onprogress = () => {
      throw new Error("a listener's own mistake")
    }
    const { content } = yield* Effect.promise(() => client.callTool({ name: "step" }, undefined, { onprogress }))
    assert.deepStrictEqual(content, [{ type: "text", text: "stepped" }])
  })

  effect(
    "cancels the tool on abort and fails with the signal's reason",
    function* ({ client, started: running, stopped }) {
      const controller = giveUp()
      const call = client.callTool({ name: "wait" }, undefined, { signal: controller.signal })
      yield* running
      controller.abort()
      assert.strictEqual(yield* rejection(call), controller.signal.reason)
      yield* stopped
    }
  )

  effect("fails with an Error for any abort reason", function* ({ client }) {
    const { code, message } = yield* failure(client.ping({ signal: AbortSignal.abort("changed my mind") }))
    assert.strictEqual(code, -32001)
    assert.include(message, "changed my mind")
  })

  effect("sends no request after an abort", function* ({ client, server }) {
    let calls = 0
    const run = () => Effect.sync(() => ({ content: [], calls: ++calls }))
    yield* server.setTools([{ definition: { name: "count" }, run }])
    yield* rejection(client.callTool({ name: "count" }, undefined, { signal: AbortSignal.abort() }))
    assert.strictEqual(calls, 0)
  })

  effect("cancels the tool after a timeout", function* ({ client, started: running, stopped }) {
    const call = client.callTool({ name: "wait" }, undefined, { timeout: 5000 })
    const failing = yield* Effect.forkChild(failure(call), { startImmediately: true })
    yield* running
    yield* TestClock.adjust("5 seconds")
    const { code, message } = yield* Fiber.join(failing)
    assert.strictEqual(code, -32001)
    assert.include(message, "5000 ms")
    yield* stopped
  })

  effect("fails as closed when its session closes", function* ({ client, server, started: running }) {
    const call = client.callTool({ name: "wait" })
    yield* running
    yield* server.crash("the workshop burned down")
    const { code, message } = yield* failure(call)
    assert.deepStrictEqual([code, message], [-32000, "the workshop burned down"])
  })

  effect("aborts running requests and rejects new ones after close", function* ({ client, started: running, stopped }) {
    const call = client.callTool({ name: "wait" })
    yield* running
    yield* Effect.promise(() => client.close())
    assert.strictEqual((yield* failure(call)).code, -32000)
    yield* stopped
    assert.strictEqual((yield* failure(client.listTools())).code, -32000)
  })

  effect("leaves its session open on close", function* ({ client, session }) {
    yield* Effect.promise(() => client.close())
    yield* session.ping
  })

  effect("lists and reads resources", function* ({ client }) {
    assert.deepStrictEqual(yield* Effect.promise(() => client.listResources()), {
      resources: [{ uri: "note://one", name: "one" }]
    })
    assert.deepStrictEqual(yield* Effect.promise(() => client.readResource({ uri: "note://one" })), {
      contents: [{ uri: "note://one", text: "first" }]
    })
  })

  effect("omits invalid resource contents", function* ({ client, server }) {
    const good = { uri: "note://two", blob: "aGk=" }
    yield* server.setResources([
      {
        definition: { uri: "note://two", name: "two" },
        read: Effect.succeed([good, { uri: "note://two" }])
      }
    ])
    const { contents } = yield* Effect.promise(() => client.readResource({ uri: "note://two" }))
    assert.deepStrictEqual(contents, [good])
  })

  it.effect("reports the name and the capabilities of the peer", () =>
    Effect.gen(function* () {
      const { client } = yield* started
      assert.deepStrictEqual(client.getServerVersion(), { name: "workshop", version: "1.0.0" })
      assert.deepStrictEqual(client.getServerCapabilities(), { tools: {}, resources: { subscribe: true } })
    })
  )

  effect("aborts all requests with the signal of withSignal", function* ({ client, started: running, stopped }) {
    const controller = giveUp()
    const call = withSignal(client, controller.signal).callTool({ name: "wait" })
    yield* running
    controller.abort()
    assert.strictEqual(yield* rejection(call), controller.signal.reason)
    yield* stopped
    yield* Effect.promise(() => client.ping())
  })
})
