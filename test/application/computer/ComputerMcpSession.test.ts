import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import type { MemoryTool } from "../../../src/adapters/memory/MemoryMcp.ts"
import { Computer } from "../../../src/application/computer/Computer.ts"
import { makeComputerMcpSession } from "../../../src/application/computer/ComputerMcpSession.ts"
import type { McpChange } from "../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import { hangingTool, resource, textResult, tool } from "../../conformance/members.ts"
import { autoApply, withAlpha } from "./testComputer.ts"

/** The session of a Computer with a server `alpha` of these tools, which need no consent, for the client `editor`. */
const sessionOf = Effect.fnUntraced(function* (tools: ReadonlyArray<MemoryTool>, configure: JsonObject = {}) {
  const { alpha, computer } = yield* withAlpha({
    server: { tools },
    configure: { alpha: { ...autoApply, ...configure } }
  })
  return { ...(yield* Effect.provideService(makeComputerMcpSession("editor"), Computer, computer)), alpha }
})

describe("ComputerMcpSession", () => {
  it.effect("describes itself as a peer with tools only", () =>
    Effect.gen(function* () {
      const { info, listResources } = yield* sessionOf([])
      assert.strictEqual(info.name, "a2c-computer")
      assert.deepStrictEqual(info.capabilities, { tools: true, resources: false, subscribe: false })
      assert.strictEqual((yield* Effect.flip(listResources())).reason, "unsupported")
    })
  )

  it.effect("lists the tools under their names in the office", () =>
    Effect.gen(function* () {
      const { listTools } = yield* sessionOf([tool("read"), tool("write")], { tool_meta: { read: { alias: "peek" } } })
      const { items, nextCursor } = yield* listTools()
      assert.deepStrictEqual(
        items.map(({ description, inputSchema, name }) => ({ description, inputSchema, name })),
        [
          { description: "does read", inputSchema: { type: "object" }, name: "peek" },
          { description: "does write", inputSchema: { type: "object" }, name: "write" }
        ]
      )
      assert.isUndefined(nextCursor)
    })
  )

  it.effect("calls a tool and returns its result as MCP", () =>
    Effect.gen(function* () {
      const echo = tool("echo", (args) => Effect.succeed(textResult(String(args["text"]), { _meta: { k: 1 } })))
      const { callTool } = yield* sessionOf([echo])
      assert.deepStrictEqual<unknown>(yield* callTool("echo", { text: "hi" }), {
        content: [{ type: "text", text: "hi" }],
        isError: false,
        _meta: { k: 1 }
      })
    })
  )

  it.effect("lists no tool that only apps may call", () =>
    Effect.gen(function* () {
      const appOnly = tool("refresh", undefined, { _meta: { ui: { visibility: ["app"] } } })
      const { listTools } = yield* sessionOf([tool("show"), appOnly])
      const names = (yield* listTools()).items.map(({ name }) => name)
      assert.deepStrictEqual(names, ["show"])
    })
  )

  it.effect("lets a call run for an hour", () =>
    Effect.gen(function* () {
      const { hanging, started, stopped } = yield* hangingTool("hang")
      const { callTool } = yield* sessionOf([hanging])
      const calling = yield* Effect.forkChild(callTool("hang", {}))
      yield* started
      yield* TestClock.adjust("59 minutes")
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust("1 minute")
      yield* stopped
      assert.isTrue((yield* Fiber.join(calling))["isError"])
    })
  )

  it.effect("announces changes of the tools, and no others", () =>
    Effect.gen(function* () {
      const { alpha, watch } = yield* sessionOf([tool("a")])
      const announced = yield* Queue.unbounded<McpChange>()
      const changes = yield* watch({ tools: true, resources: true, uris: [] })
      yield* Effect.forkScoped(Stream.runForEach(changes, (change) => Queue.offer(announced, change)))
      yield* TestClock.adjust(0)
      yield* alpha.setResources([resource("window://h/a")])
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Queue.size(announced), 0)
      yield* alpha.setTools([tool("b")])
      assert.deepStrictEqual(yield* Queue.take(announced), { _tag: "ToolsChanged" })
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Queue.size(announced), 0)
    })
  )

  it.effect("announces a change between the start of the watch and its first pull", () =>
    Effect.gen(function* () {
      const { alpha, watch } = yield* sessionOf([tool("a")])
      const changes = yield* watch({ tools: true, resources: false, uris: [] })
      yield* alpha.setTools([tool("b")])
      yield* TestClock.adjust("1 second")
      const [first] = yield* Stream.runCollect(Stream.take(changes, 1))
      assert.deepStrictEqual(first, { _tag: "ToolsChanged" })
    })
  )

  it.effect("announces nothing to a watch without tools", () =>
    Effect.gen(function* () {
      const { alpha, watch } = yield* sessionOf([tool("a")])
      const changes = yield* watch({ tools: false, resources: true, uris: [] })
      const first = yield* Effect.forkScoped(Stream.runHead(changes))
      yield* TestClock.adjust(0)
      yield* alpha.setTools([tool("b")])
      yield* TestClock.adjust("1 second")
      assert.isUndefined(first.pollUnsafe())
    })
  )
})
