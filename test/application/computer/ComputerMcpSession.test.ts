import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue, Stream } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../src/adapters/memory/MemoryMcp.ts"
import { Computer } from "../../../src/application/computer/Computer.ts"
import { makeComputerMcpSession } from "../../../src/application/computer/ComputerMcpSession.ts"
import type { Approval } from "../../../src/domain/approvals/Approval.ts"
import type { InputResponder, McpChange } from "../../../src/application/ports/McpSession.ts"
import { hangingTool, resource, textResult, tool } from "../../conformance/members.ts"
import { type TestComputer, testComputer } from "./testComputer.ts"

/** The session of a Computer, for the client `editor`. */
const sessionOf = Effect.fnUntraced(function* (fixture: TestComputer) {
  const { computer } = yield* testComputer(fixture)
  yield* TestClock.adjust(0)
  return yield* Effect.provideService(makeComputerMcpSession("editor"), Computer, computer)
})

const auto = { default_tool_meta: { auto_apply: true } }

describe("ComputerMcpSession", () => {
  it.effect("describes itself as a peer with tools only", () =>
    Effect.gen(function* () {
      const { info, listResources } = yield* sessionOf({ servers: {} })
      assert.strictEqual(info.name, "a2c-computer")
      assert.deepStrictEqual(info.capabilities, { tools: true, resources: false, subscribe: false })
      assert.strictEqual((yield* Effect.flip(listResources())).reason, "unsupported")
    })
  )

  it.effect("lists the tools under their names in the office", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("read"), tool("write")] })
      const configure = { alpha: { tool_meta: { read: { alias: "peek" } } } }
      const { listTools } = yield* sessionOf({ servers: { alpha }, configure })
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
      const alpha = yield* makeMemoryMcpServer({ tools: [echo] })
      const { callTool } = yield* sessionOf({ servers: { alpha }, configure: { alpha: auto } })
      assert.deepStrictEqual<unknown>(yield* callTool("echo", { text: "hi" }), {
        content: [{ type: "text", text: "hi" }],
        isError: false,
        _meta: { k: 1 }
      })
    })
  )

  it.effect("asks for consent in the name of the client", () =>
    Effect.gen(function* () {
      const requests: Array<Approval> = []
      const confirm = (request: Approval) => {
        requests.push(request)
        return Effect.succeed(false)
      }
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("t")] })
      const { callTool } = yield* sessionOf({ servers: { alpha }, settings: { confirm } })
      assert.isTrue((yield* callTool("t", { x: 1 }))["isError"])
      assert.deepStrictEqual(
        requests.map(({ computer, params, requester, server, tool: name }) => ({
          computer,
          params,
          requester,
          server,
          name
        })),
        [{ requester: "editor", computer: "pc", params: { x: 1 }, server: "alpha", name: "t" }]
      )
    })
  )

  it.effect("lists no tool that only apps may call", () =>
    Effect.gen(function* () {
      const appOnly = tool("refresh", undefined, { _meta: { ui: { visibility: ["app"] } } })
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("show"), appOnly] })
      const { listTools } = yield* sessionOf({ servers: { alpha } })
      assert.deepStrictEqual(
        (yield* listTools()).items.map(({ name }) => name),
        ["show"]
      )
    })
  )

  it.effect("lets the client answer the questions of the MCP server", () =>
    Effect.gen(function* () {
      const greet = tool("greet", (_, { ask: request }) =>
        Effect.map(request({ mode: "form", message: "who?", schema: { type: "object" } }), ({ action }) =>
          textResult(action)
        )
      )
      const alpha = yield* makeMemoryMcpServer({ tools: [greet] })
      const { callTool } = yield* sessionOf({ servers: { alpha }, configure: { alpha: auto } })
      const responder: InputResponder = {
        modes: ["form"],
        answer: () => Effect.succeed({ action: "accept", content: {} })
      }
      assert.deepInclude(yield* callTool("greet", {}, { responder }), textResult("accept"))
    })
  )

  it.effect("lets a call run for an hour", () =>
    Effect.gen(function* () {
      const { hanging, started, stopped } = yield* hangingTool("hang")
      const alpha = yield* makeMemoryMcpServer({ tools: [hanging] })
      const { callTool } = yield* sessionOf({ servers: { alpha }, configure: { alpha: auto } })
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
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("a")] })
      const { watch } = yield* sessionOf({ servers: { alpha } })
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
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("a")] })
      const { watch } = yield* sessionOf({ servers: { alpha } })
      const changes = yield* watch({ tools: true, resources: false, uris: [] })
      yield* alpha.setTools([tool("b")])
      yield* TestClock.adjust("1 second")
      const [first] = yield* Stream.runCollect(Stream.take(changes, 1))
      assert.deepStrictEqual(first, { _tag: "ToolsChanged" })
    })
  )

  it.effect("announces nothing to a watch without tools", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("a")] })
      const { watch } = yield* sessionOf({ servers: { alpha } })
      const changes = yield* watch({ tools: false, resources: true, uris: [] })
      const first = yield* Effect.forkScoped(Stream.runHead(changes))
      yield* TestClock.adjust(0)
      yield* alpha.setTools([tool("b")])
      yield* TestClock.adjust("1 second")
      assert.isUndefined(first.pollUnsafe())
    })
  )
})
