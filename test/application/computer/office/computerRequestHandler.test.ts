import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryLandingFolder } from "../../../adapters/uploads/MemoryLandingFolder.ts"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { VrlEngine } from "../../../../src/application/ports/VrlEngine.ts"
import type { Link } from "../../../../src/application/ports/Transport.ts"
import { asObject, type JsonObject, objectsIn } from "../../../../src/domain/json.ts"
import type { LineName } from "../../../../src/domain/wire/lines.ts"
import { hangingTool, resource, textResult, tool } from "../../../conformance/members.ts"
import { recorder } from "../../../recorder.ts"
import { autoApply, requests, joined, link } from "../testComputer.ts"

const codeIn = (answer: unknown): unknown => {
  const text = JSON.stringify(answer)
  return /"code":(\d+)/.exec(text)?.[1]
}

const call = { tool_name: "t", params: {}, timeout: 5 }

/** A Computer with one tool that counts its runs. */
const fixture = Effect.gen(function* () {
  const runs = { count: 0 }
  const t = tool("t", () => Effect.sync(() => (runs.count++, textResult("ran"))))
  const alpha = yield* makeMemoryMcpServer({ tools: [t] })
  return { request: yield* requests({ alpha }, { alpha: autoApply }), runs }
})

describe("computerRequestHandler", () => {
  it.effect("case 139: rejects a call for another Computer", () =>
    Effect.gen(function* () {
      const { request, runs } = yield* fixture
      const answer = yield* request("client:tool_call", { ...call, computer: "pc-2" })
      assert.deepStrictEqual([codeIn(answer), runs.count], ["404", 0])
      yield* request("client:tool_call", call)
      assert.strictEqual(runs.count, 1)
    })
  )

  it.effect("case 218: rejects malformed requests", () =>
    Effect.gen(function* () {
      const { request, runs } = yield* fixture
      const bad: ReadonlyArray<object> = [
        ...["agent", "req_id", "computer", "tool_name", "params", "timeout"].map((field) => ({
          [field]: undefined
        })),
        { params: [] },
        { timeout: "5" },
        { timeout: 0 },
        { req_id: 7 },
        { agent: "" }
      ]
      for (const fields of bad) {
        assert.strictEqual(codeIn(yield* request("client:tool_call", { ...call, ...fields })), "400")
      }
      for (const event of ["client:get_tools", "client:get_config", "client:get_desktop"]) {
        assert.strictEqual(codeIn(yield* request(event, { agent: 3 })), "400")
      }
      assert.strictEqual(runs.count, 0)
    })
  )
})

/** A connection whose messages have at most this many bytes. */
const limited = (maxBytes: number): Effect.Effect<Link> =>
  Effect.succeed({ ...link, maxBytes: () => maxBytes, fits: (body) => body.byteLength() <= maxBytes })

describe("request for the tools of a Computer", () => {
  it.effect("hides the tools of apps from Agents that do not know apps, which may call them", () =>
    Effect.gen(function* () {
      const hidden = tool("hidden", undefined, { _meta: { ui: { visibility: ["app"] } } })
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("shown"), hidden] })
      const request = yield* requests({ alpha }, { alpha: autoApply })
      const namesFor = Effect.fnUntraced(function* (fields: object) {
        const { tools } = asObject(yield* request("client:get_tools", fields))
        return (tools as ReadonlyArray<JsonObject>).map(({ name }) => name)
      })
      assert.deepStrictEqual(yield* namesFor({}), ["shown"])
      assert.deepStrictEqual(yield* namesFor({ a2c_features: ["mcp"] }), ["shown", "hidden"])
      const result = yield* request("client:tool_call", { ...call, tool_name: "hidden" })
      assert.isFalse(asObject(result)["isError"])
    })
  )

  it.effect.each([
    [["agent"], ["mcp", "approvals"]],
    [["page"], ["mcp"]]
  ] as const)("announces whether Agents decide: %j", ([approvers, features]) =>
    Effect.gen(function* () {
      const { request } = yield* joined({ servers: {}, settings: { approvers } })
      const reply = asObject(yield* request("client:get_tools", { a2c_features: ["mcp"] }))
      assert.deepStrictEqual(reply["a2c_features"], features)
    })
  )
})

describe("request to a Computer", () => {
  it.effect("is served under each name of its event", () =>
    Effect.gen(function* () {
      const request = yield* requests({})
      for (const event of ["client:get_finder", "client:list_finder"]) {
        assert.deepStrictEqual(yield* request(event, {}), { documents: [], total_count: 0, req_id: "r" })
      }
    })
  )

  it.effect("fails with 404 when its event is unknown", () =>
    Effect.gen(function* () {
      const request = yield* requests({})
      assert.strictEqual(codeIn(yield* request("client:fly", {})), "404")
      assert.strictEqual(codeIn(yield* request("fly:notify:", {})), "404")
    })
  )

  it.effect("fails with 500 after a defect, which is logged", () =>
    Effect.gen(function* () {
      const broken = { definition: { uri: "window://h/a" }, read: Effect.die(new Error("a bug")) }
      const { request, logs } = yield* joined({
        servers: { alpha: yield* makeMemoryMcpServer({ resources: [broken] }) }
      })
      const answer = yield* request("client:get_desktop", {})
      assert.strictEqual(codeIn(answer), "500")
      assert.notInclude(JSON.stringify(answer), "a bug")
      const failures = logs.filter((line) => line.includes("request failed"))
      assert.lengthOf(failures, 1)
      assert.include(failures[0], "client:get_desktop")
    })
  )

  it.effect("runs in a span with the names of the Agent and the Computer", () =>
    Effect.gen(function* () {
      const { spans, tracer } = recorder()
      const request = yield* requests({})
      yield* Effect.provideService(request("client:get_tools", {}), Tracer.Tracer, tracer)
      const span = spans.find(({ name }) => name === "client:get_tools")
      assert.deepStrictEqual(Object.fromEntries(span?.attributes ?? []), { "a2c.computer": "pc", "a2c.agent": "a" })
    })
  )
})

describe("reply above the message size limit", () => {
  const described = (name: string, length: number) => tool(name, undefined, { description: "x".repeat(length) })

  it.effect("omits the largest window", () =>
    Effect.gen(function* () {
      const resources = [resource("window://h/a", ["x".repeat(1000)]), resource("window://h/b", ["T"])]
      const servers = { alpha: yield* makeMemoryMcpServer({ resources }) }
      const { request, logs } = yield* joined({ servers }, limited(500))
      assert.deepStrictEqual(yield* request("client:get_desktop", {}), { desktops: ["window://h/b\n\nT"], req_id: "r" })
      assert.include(logs.join(), '"reply truncated",{"event":"client:get_desktop","omitted":["window://h/a"]}')
    })
  )

  it.effect("is not truncated at the limit", () =>
    Effect.gen(function* () {
      const servers = { alpha: yield* makeMemoryMcpServer({ tools: [described("s", 100)] }) }
      const { request, logs } = yield* joined({ servers }, limited(4000))
      const { tools } = (yield* request("client:get_tools", {})) as { tools: Array<JsonObject> }
      assert.lengthOf(tools, 1)
      assert.notInclude(logs.join(), "reply truncated")
    })
  )

  it.effect("fails with 413 and the limit when nothing can be omitted", () =>
    Effect.gen(function* () {
      const servers = { alpha: yield* makeMemoryMcpServer({ tools: [described("s", 1000)] }) }
      const { request } = yield* joined({ servers }, limited(100))
      for (const event of ["client:get_tools", "client:get_config"]) {
        const answer = (yield* request(event, {})) as JsonObject
        assert.strictEqual(answer["code"], 413)
        assert.include(answer["message"], "100")
      }
    })
  )

  it.effect("drops the event of the server's script first, then the result", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({
        tools: [tool("t"), tool("long", () => Effect.succeed(textResult("x".repeat(1000))))]
      })
      const fixture = { servers: { alpha }, configure: { alpha: { ...autoApply, vrl: ".x = 1" } } }
      const replies = Effect.fnUntraced(function* (event: string, maxBytes: number) {
        const engine = VrlEngine.of({ check: () => Effect.undefined, run: () => Effect.succeed(event) })
        const { request } = yield* Effect.provideService(joined(fixture, limited(maxBytes)), VrlEngine, engine)
        return (name: string) => request("client:tool_call", { ...call, tool_name: name, req_id: name })
      })
      const content = [{ type: "text", text: "t" }]
      const roomy = yield* replies("event", 500)
      assert.deepStrictEqual(yield* roomy("t"), {
        content,
        isError: false,
        meta: { a2c_vrl_transformed: '"event"' }
      })
      const tight = yield* replies("x".repeat(1000), 500)
      assert.deepStrictEqual(yield* tight("t"), { content, isError: false, meta: {} })
      assert.deepInclude(((yield* tight("long")) as JsonObject)["meta"], { error_code: 4003 })
    })
  )
})

describe("binary data of a result", () => {
  const dataOf = (size: number) => Buffer.alloc(size, 7).toString("base64")
  const pictureOf = (size: number, more: JsonObject = {}) => ({
    type: "image",
    data: dataOf(size),
    mimeType: "image/png",
    ...more
  })

  /** A Computer with a tool that gives these blocks, and its reply to a call. */
  const replyWith = Effect.fnUntraced(function* (
    content: ReadonlyArray<JsonObject>,
    maxBytes: number,
    protocol: LineName
  ) {
    const alpha = yield* makeMemoryMcpServer({ tools: [tool("t", () => Effect.succeed({ content }))] })
    const { request } = yield* joined(
      { servers: { alpha }, configure: { alpha: autoApply } },
      limited(maxBytes),
      protocol
    )
    const name = protocol === "0.2" ? "t" : "alpha__t"
    const reply = (yield* request("client:tool_call", { ...call, tool_name: name })) as JsonObject
    return { request, reply, blocks: reply["content"] as ReadonlyArray<JsonObject> }
  })

  it.effect("stays on line 0.2 while the reply fits", () =>
    Effect.gen(function* () {
      const { blocks } = yield* replyWith([pictureOf(100_000)], 200_000, "0.2")
      assert.deepStrictEqual(blocks, [pictureOf(100_000)])
    })
  )

  it.effect("becomes a blob above 32 KiB on line 0.3", () =>
    Effect.gen(function* () {
      const { request, blocks } = yield* replyWith([pictureOf(32 * 1024), pictureOf(32 * 1024 + 1)], 200_000, "0.3")
      const [small, large] = blocks
      assert.deepStrictEqual(small, pictureOf(32 * 1024))
      assert.deepInclude(large, { data: "", mimeType: "image/png" })
      const blob_handle = asObject(large?.["_meta"])["a2c_blob_handle"]
      const chunk = (yield* request("client:get_blob", { blob_handle })) as JsonObject
      assert.deepInclude(chunk, { blob: dataOf(32 * 1024 + 1), eof: true, total_size: 32 * 1024 + 1, req_id: "r" })
    })
  )

  it.effect("becomes a blob when the reply does not fit, the larger data first", () =>
    Effect.gen(function* () {
      const content = [pictureOf(100), pictureOf(40_000)]
      const { blocks } = yield* replyWith(content, 10_000, "0.2")
      assert.deepStrictEqual(blocks[0], pictureOf(100))
      assert.deepInclude(blocks[1], { data: "" })
      const tight = yield* replyWith([pictureOf(5000), pictureOf(40_000)], 5000, "0.2")
      const data = tight.blocks.map(({ data }) => data)
      assert.deepStrictEqual(data, ["", ""])
    })
  )

  it.effect("fails the call when the reply does not fit without it", () =>
    Effect.gen(function* () {
      const content = [pictureOf(5000), { type: "text", text: "x".repeat(10_000) }]
      const { reply } = yield* replyWith(content, 5000, "0.2")
      assert.deepInclude(reply["meta"], { error_code: 4003 })
    })
  )

  it.effect("has no handle of the MCP server", () =>
    Effect.gen(function* () {
      const forged = pictureOf(100, { _meta: { a2c_blob_handle: "h", own: 1 } })
      const { blocks } = yield* replyWith([forged], 10_000, "0.3")
      assert.deepStrictEqual(blocks, [pictureOf(100, { _meta: { own: 1 } })])
    })
  )
})

describe("upload to a Computer", () => {
  const chunk = {
    chunk_offset: 0,
    eof: false,
    blob: "AAAA",
    total_size: 6,
    sha256: "0".repeat(64)
  }

  it.effect("has at most the bytes that the Computer allows", () =>
    Effect.gen(function* () {
      const { files, layer } = makeMemoryLandingFolder()
      const reply = Effect.fnUntraced(function* (maxBytes: number) {
        const fixture = { servers: {}, uploads: { folder: "/uploads", maxBytes } }
        const { request } = yield* Effect.provide(joined(fixture, Effect.succeed(link), "0.4"), layer)
        return asObject(yield* request("client:put_blob", chunk))
      })
      assert.deepInclude(yield* reply(6), { chunk_offset: 0, req_id: "r" })
      assert.strictEqual(files.size, 1)
      assert.deepInclude(yield* reply(5), { code: 4019 })
    })
  )

  it.effect("is an unknown event on lines without uploads", () =>
    Effect.gen(function* () {
      const request = yield* requests({})
      assert.strictEqual(codeIn(yield* request("client:put_blob", chunk)), "404")
    })
  )
})

describe("notification to a Computer", () => {
  /** A Computer that runs a call, and a function that sends it a notification and tells whether the call still runs. */
  const calling = Effect.gen(function* () {
    const { hanging, started } = yield* hangingTool("hang")
    const alpha = yield* makeMemoryMcpServer({ tools: [hanging] })
    const { request, logs, receive } = yield* joined({ servers: { alpha }, configure: { alpha: autoApply } })
    const running = yield* Effect.forkChild(request("client:tool_call", { ...call, tool_name: "hang", timeout: 60 }))
    yield* started
    const isRunningAfter = Effect.fnUntraced(function* (event: string, body: unknown) {
      assert.deepStrictEqual(yield* receive(event, body), [])
      yield* TestClock.adjust(0)
      return running.pollUnsafe() === undefined
    })
    return { isRunningAfter, logs, result: Fiber.join(running) }
  })

  it.effect("cancels the call that it names", () =>
    Effect.gen(function* () {
      const { isRunningAfter, result } = yield* calling
      assert.isTrue(yield* isRunningAfter("notify:enter_office", { office_id: "o", agent: "a" }))
      assert.isTrue(yield* isRunningAfter("notify:tool_call_cancel", { agent: "a", req_id: "other" }))
      assert.isFalse(yield* isRunningAfter("notify:tool_call_cancel", { agent: "a", req_id: "r" }))
      assert.deepInclude(((yield* result) as JsonObject)["meta"], { a2c_cancelled: true })
    })
  )

  it.effect("is ignored when it is malformed or unknown, with the reason in the log", () =>
    Effect.gen(function* () {
      const { isRunningAfter, logs } = yield* calling
      assert.isTrue(yield* isRunningAfter("notify:tool_call_cancel", { agent: 3 }))
      assert.isTrue(yield* isRunningAfter("notify:fly", {}))
      const ignored = logs.filter((line) => line.includes("message ignored"))
      assert.lengthOf(ignored, 2)
      assert.include(ignored[0], '"event":"notify:tool_call_cancel","reason":"')
    })
  )
})

describe("request of an Agent to the MCP servers of a Computer", () => {
  const mcpResult = (reply: unknown) => asObject(asObject(reply)["result"])

  it.effect("lists tools by their names in the office, with those at their MCP server", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({ tools: [tool("read"), tool("write")] })
      const request = yield* requests({ alpha }, { alpha: { tool_meta: { read: { alias: "peek" } } } })
      const { servers } = mcpResult(yield* request("client:mcp", { method: "servers/list", params: {} }))
      const tools = objectsIn(servers).flatMap((server) => objectsIn(server["tools"]))
      assert.deepStrictEqual(
        tools.map(({ name, originalName }) => [name, originalName]),
        [
          ["peek", "read"],
          ["write", undefined]
        ]
      )
    })
  )

  it.effect("fails after its timeout, also through an older Server, which passes it as a call", () =>
    Effect.gen(function* () {
      const alpha = yield* makeMemoryMcpServer({
        answer: (method) =>
          method === "completion/complete" ? Effect.never : Effect.succeed({ resourceTemplates: [] }),
        capabilities: { completions: true }
      })
      const request = yield* requests({ alpha })
      const params = { server: "alpha", method: "completion/complete", params: {} }
      const call = { tool_name: "a2c:mcp", params, timeout: 5 }
      const asking = yield* Effect.forkChild(request("client:tool_call", call), { startImmediately: true })
      yield* TestClock.adjust("5 seconds")
      assert.include(JSON.stringify(asking.pollUnsafe()), "no response within 5 seconds")
    })
  )

  it.effect("gives large data of the result of a task as a handle, as that of a call", () =>
    Effect.gen(function* () {
      const image = { type: "image", mimeType: "image/png", data: "AAAA".repeat(100_000) }
      const draw = tool("draw", () => Effect.succeed({ content: [image] }))
      const alpha = yield* makeMemoryMcpServer({ tools: [draw] })
      const { request, computer } = yield* joined(
        { servers: { alpha }, configure: { alpha: autoApply } },
        undefined,
        "0.3"
      )
      const [name] = (yield* computer.catalogue).entries.keys()
      const start = { id: "t1", tool: name, params: {}, timeout: 60 }
      yield* request("client:mcp", { method: "tasks/start", params: start })
      yield* TestClock.adjust(0)
      const { result } = mcpResult(yield* request("client:mcp", { method: "tasks/get", params: { id: "t1" } }))
      assert.include(JSON.stringify(result), "a2c_blob_handle")
    })
  )
})
