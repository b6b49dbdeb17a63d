import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryMcp from "../../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { makeOfficeMcpSession } from "../../../src/application/bridge/OfficeMcpSession.ts"
import type { OfficeMcpSessionOptions } from "../../../src/application/bridge/officeModelSession.ts"
import type { ResolveDpe } from "../../../src/application/computer/ComputerSettings.ts"
import { DocumentReader } from "../../../src/application/ports/files/DocumentReader.ts"
import type { JsonObject } from "../../../src/domain/json.ts"
import {
  agentUnderTest,
  computerUnderTest,
  hangingTool,
  resource,
  textResult,
  tool
} from "../../conformance/members.ts"
import { makePlace } from "../../main/computers.ts"
import { textOf } from "../../textOf.ts"

/** The MCP session of an office with the Computer `desk` and these servers. */
const bridged = Effect.fnUntraced(function* (
  parts: MemoryMcp.MemoryMcpServerOptions,
  options: Partial<OfficeMcpSessionOptions> = {},
  cut: Parameters<typeof computerUnderTest>[1] = {}
) {
  const place = yield* makePlace
  const alpha = yield* MemoryMcp.makeMemoryMcpServer(parts)
  yield* computerUnderTest(place, { name: "desk", servers: { alpha }, ...cut })
  const agent = yield* Effect.provideService(agentUnderTest(place), DocumentReader, {
    read: (uri) => Effect.succeed({ bytes: new TextEncoder().encode(`from ${uri}`), mimeType: "application/pdf" })
  })
  yield* agent.settled
  const session = yield* Effect.provideService(makeOfficeMcpSession({ office: "O1", ...options }), Agent, agent)
  return { agent, alpha, place, session }
})

const listed = (page: { readonly items: ReadonlyArray<JsonObject> }, key: string) => page.items.map((item) => item[key])
describe("OfficeMcpSession", () => {
  it.effect("restores the annotations of a tool from its MCP server", () =>
    Effect.gen(function* () {
      const annotations = { readOnlyHint: true, title: "Read" }
      const outputSchema = { type: "object", properties: { n: { type: "number" } } }
      const { session } = yield* bridged({
        tools: [tool("read", undefined, { annotations, outputSchema, _meta: { mine: 1 } })]
      })
      const found = (yield* session.listTools()).items.find(({ name }) => name === "desk__read")
      assert.deepStrictEqual(found?.["annotations"], annotations)
      assert.deepStrictEqual(found?.["outputSchema"], outputSchema)
      const meta = found?.["_meta"] as JsonObject
      assert.deepStrictEqual([meta["mine"], meta["a2c_computer"], meta["a2c_tool"]], [1, "desk", "read"])
    })
  )

  it.effect("passes a call to its tool and returns the complete result", () =>
    Effect.gen(function* () {
      const image = { type: "image", data: "AAAA", mimeType: "image/png" }
      const { session } = yield* bridged({
        tools: [
          tool("draw", (args) => Effect.succeed({ content: [image], structuredContent: args, _meta: { took: 3 } }))
        ]
      })
      const result = yield* session.callTool("desk__draw", { a: [1] })
      assert.deepStrictEqual(result["content"], [image])
      assert.deepStrictEqual(result["structuredContent"], { a: [1] })
      assert.strictEqual((result["_meta"] as JsonObject)["took"], 3)
    })
  )

  it.effect.each([["WINDOW"], ["Window"], ["wINDOW"], ["window"]])("reads a window of the scheme %s", ([scheme]) =>
    Effect.gen(function* () {
      const { session } = yield* bridged({ resources: [resource(`${scheme}://app/notes`, ["text"])] })
      const [uri] = listed(yield* session.listResources(), "uri")
      assert.strictEqual(uri, "window://desk.app/notes")
      for (const requests of [String(uri), "WINDOW://desk.app/notes", "Window://desk.app/notes"]) {
        assert.deepStrictEqual(yield* session.readResource(requests), [
          { uri: requests, mimeType: "text/plain", text: "text" }
        ])
      }
    })
  )

  it.effect.each([["DPE"], ["Dpe"], ["dPE"], ["dpe"]])("reads a document of the scheme %s", ([scheme]) =>
    Effect.gen(function* () {
      const document = resource(`${scheme}://app/doc`, ["body"], { _meta: { page_count: 1 } })
      const resolveDpe: ResolveDpe = ({ contents }) =>
        Effect.succeed({ uri: `https://files.example/${String(contents[0]?.["text"])}` })
      const { session } = yield* bridged({ resources: [document] }, {}, { settings: { resolveDpe } })
      const [uri] = listed(yield* session.listResources(), "uri")
      assert.strictEqual(uri, "dpe://desk.app/doc")
      for (const requests of [String(uri), "DPE://desk.app/doc"]) {
        const [content] = yield* session.readResource(requests)
        const bytes = new TextEncoder().encode("from https://files.example/body")
        assert.deepInclude(content, { uri: requests, blob: Buffer.from(bytes).toString("base64") })
      }
    })
  )

  it.effect("cancels an interrupted call on the Computer", () =>
    Effect.gen(function* () {
      const { hanging, started, stopped } = yield* hangingTool("hang")
      const { session } = yield* bridged({ tools: [hanging] })
      const calling = yield* Effect.forkChild(session.callTool("desk__hang", {}))
      yield* started
      yield* Fiber.interrupt(calling)
      yield* stopped
    })
  )

  it.effect("adds advice to a call that needs the owner's consent", () =>
    Effect.gen(function* () {
      const { session } = yield* bridged(
        { tools: [tool("wipe")] },
        {},
        { configure: { alpha: { default_tool_meta: { auto_apply: false } } } }
      )
      const result = yield* session.callTool("desk__wipe", {})
      assert.isTrue(result["isError"])
      assert.include(textOf(result), "Tell the user")
    })
  )

  it.effect("suggests similar names for a removed tool", () =>
    Effect.gen(function* () {
      const { session } = yield* bridged({ tools: [tool("read_file")] })
      const result = yield* session.callTool("attic__read_file", {})
      assert.isTrue(result["isError"])
      assert.include(textOf(result), "desk__read_file")
    })
  )

  it.effect("announces tools of Computers that join and leave", () =>
    Effect.gen(function* () {
      const { place, session } = yield* bridged({ tools: [tool("read")] })
      const changes = yield* session.watch({ tools: true, resources: false, uris: [] })
      const first = yield* Effect.forkChild(Stream.runHead(changes))
      yield* computerUnderTest(place, { name: "lab", servers: { beta: { tools: [tool("cook")] } } })
      yield* Fiber.join(first)
      assert.include(listed(yield* session.listTools(), "name"), "lab__cook")
    })
  )

  it.effect("exposes windows as resources that are listed, read and announced", () =>
    Effect.gen(function* () {
      const { alpha, session } = yield* bridged({
        resources: [resource("window://app/notes", ["first"]), resource("window://app/mail", ["mail"])]
      })
      const uri = "window://desk.app/notes"
      assert.deepStrictEqual(listed(yield* session.listResources(), "uri"), [uri, "window://desk.app/mail"])
      assert.deepStrictEqual(yield* session.readResource(uri), [{ uri, mimeType: "text/plain", text: "first" }])
      const changes = yield* session.watch({ tools: false, resources: false, uris: [uri] })
      const received = yield* Effect.forkChild(Stream.runHead(changes))
      yield* alpha.setResources([resource("window://app/notes", ["second"]), resource("window://app/mail", ["mail"])])
      yield* alpha.notify({ _tag: "ResourceUpdated", uri: "window://app/notes" })
      const change = yield* Fiber.join(received)
      assert.deepStrictEqual(change._tag === "Some" ? change.value : undefined, { _tag: "ResourceUpdated", uri })
      assert.deepStrictEqual(yield* session.readResource(uri), [{ uri, mimeType: "text/plain", text: "second" }])
    })
  )

  it.effect("fails with the standard code for an unknown resource", () =>
    Effect.gen(function* () {
      const { session } = yield* bridged({})
      const missing = yield* Effect.flip(session.readResource("window://desk.app/none"))
      assert.deepStrictEqual([missing.reason, missing.code], ["protocol", -32002])
    })
  )

  it.effect("exposes documents as resources and fetches them on read", () =>
    Effect.gen(function* () {
      const uri = "dpe://com.ex.docs/rpt"
      const { session } = yield* bridged(
        { resources: [resource(uri, ["x"], { _meta: { page_count: 3 }, mimeType: "text/markdown" })] },
        {},
        { settings: { resolveDpe: () => Effect.succeed({ uri: "https://x/1", mimeType: "text/markdown" }) } }
      )
      const office = "dpe://desk.com.ex.docs/rpt"
      assert.deepStrictEqual(listed(yield* session.listResources(), "uri"), [office])
      assert.deepStrictEqual(yield* session.readResource(office), [
        { uri: office, mimeType: "text/markdown", text: "from https://x/1" }
      ])
    })
  )

  it.effect("lists search tools and pinned tools in a large office", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 70 }, (_, index) => tool(`tool_${index}`))
      const { session } = yield* bridged(
        { tools: [...many, tool("send_mail", () => Effect.succeed(textResult("sent")))] },
        { pinned: ["desk/tool_7"] }
      )
      assert.deepStrictEqual(listed(yield* session.listTools(), "name"), [
        "computers_list",
        "desktop_get",
        "tools_search",
        "tools_describe",
        "tools_call",
        "desk__tool_7"
      ])
      assert.match(textOf(yield* session.callTool("tools_search", { query: "mail" })), /^desk__send_mail: /)
      const fewest = textOf(yield* session.callTool("tools_search", { query: "tool", limit: -1 }))
      assert.lengthOf(fewest.split("\n"), 1)
      const described = textOf(yield* session.callTool("tools_describe", { names: ["desk__send_mail"] }))
      assert.include(described, '"inputSchema"')
      const sent = yield* session.callTool("tools_call", { name: "desk__send_mail", arguments: {} })
      assert.strictEqual(textOf(sent), "sent")
    })
  )

  it.effect("describes the offer of the office in the search, until the offer changes", () =>
    Effect.gen(function* () {
      const { alpha, session } = yield* bridged({ tools: [tool("send_mail")] }, { tools: "search" })
      const described = Effect.map(session.listTools(), ({ items }) =>
        String(items.find(({ name }) => name === "tools_search")?.["description"])
      )
      const before = yield* described
      assert.include(before, "Tools: 1. Computers with their MCP servers: desk (alpha). Kinds of tools: mail.")
      assert.strictEqual(yield* described, before)
      assert.isAtMost(before.length, 1100)
      const changes = yield* session.watch({ tools: true, resources: false, uris: [] })
      const changed = yield* Effect.forkChild(Stream.runHead(changes))
      yield* alpha.setTools([tool("send_mail"), tool("weather")])
      yield* alpha.notify({ _tag: "ToolsChanged" })
      yield* Fiber.join(changed)
      assert.include(yield* described, "Kinds of tools: mail, weather.")
    })
  )

  it.effect("ranks tools higher that were called with success", () =>
    Effect.gen(function* () {
      const { session } = yield* bridged(
        {
          tools: [
            tool("mail_a", () => Effect.succeed({ ...textResult("no"), isError: true })),
            tool("mail_b", () => Effect.succeed(textResult("sent")))
          ]
        },
        { tools: "search" }
      )
      const found = Effect.map(session.callTool("tools_search", { query: "mail" }), (result) =>
        textOf(result).replaceAll(/: .*/g, "").split("\n")
      )
      assert.deepStrictEqual(yield* found, ["desk__mail_a", "desk__mail_b"])
      yield* session.callTool("desk__mail_b", {})
      assert.deepStrictEqual(yield* found, ["desk__mail_b", "desk__mail_a"])
      for (let count = 0; count < 5; count++) yield* session.callTool("desk__mail_a", {})
      assert.deepStrictEqual(yield* found, ["desk__mail_b", "desk__mail_a"])
    })
  )

  it.effect("limits the results of tools and of the desktop, and reads them on", () =>
    Effect.gen(function* () {
      const long = "long ".repeat(4000)
      const outputSchema = { type: "object", properties: { n: { type: "number" } } }
      const { session } = yield* bridged(
        {
          tools: [
            tool("dump", () => Effect.succeed({ ...textResult(long), structuredContent: { n: 1 } }), { outputSchema })
          ],
          resources: [resource("window://app/notes", [long])]
        },
        { maxResult: 8192 }
      )
      const tools = (yield* session.listTools()).items
      assert.deepStrictEqual(listed({ items: tools }, "name"), [
        "computers_list",
        "desktop_get",
        "result_read",
        "desk__dump"
      ])
      assert.notProperty(tools.at(-1), "outputSchema")
      const task = yield* session.tasks?.start("desk__dump", {}) ?? Effect.undefined
      const found = yield* session.tasks?.find(task?.id ?? "") ?? Effect.undefined
      for (const result of [
        yield* session.callTool("desk__dump", {}),
        yield* session.callTool("tools_call", { name: "desk__dump" }),
        yield* session.callTool("desktop_get", {}),
        yield* task?.result ?? Effect.die("no task"),
        yield* found?.result ?? Effect.die("no task")
      ]) {
        assert.isAtMost(JSON.stringify(result).length, 8192)
        const args = JSON.parse(/result_read with (\{.*?\})/.exec(textOf(result))?.[1] ?? "{}") as JsonObject
        assert.match(textOf(yield* session.callTool("result_read", args)), /Characters [\d,]+ to [\d,]+ of 2\d,\d{3}\./)
        const uri = /result:\/\/[^"]*/.exec(JSON.stringify(result))?.[0] ?? ""
        const [page] = yield* session.readResource(uri)
        assert.include(String(page?.["text"]), "long long")
      }
    })
  )

  it.effect("has no tool to read results without a limit", () =>
    Effect.gen(function* () {
      const { session } = yield* bridged({ tools: [tool("dump", () => Effect.succeed(textResult("x".repeat(1e5))))] })
      assert.notInclude(listed(yield* session.listTools(), "name"), "result_read")
      assert.lengthOf(textOf(yield* session.callTool("desk__dump", {})), 1e5)
      assert.isTrue((yield* session.callTool("result_read", { id: "1" }))["isError"])
    })
  )

  it.effect("works through another office: tools and windows", () =>
    Effect.gen(function* () {
      const { session } = yield* bridged({
        tools: [tool("read", () => Effect.succeed(textResult("inner")))],
        resources: [resource("window://app/notes", ["hello"])]
      })
      const outer = yield* makePlace
      const inner = { ...(yield* MemoryMcp.makeMemoryMcpServer()), connect: Effect.succeed(session) }
      yield* computerUnderTest(outer, { name: "gate", servers: { inner } })
      const agent = yield* agentUnderTest(outer)
      yield* agent.settled
      const result = yield* agent.callTool({ computer: "gate", tool: "desk__read" })
      assert.strictEqual(textOf({ content: result.content }), "inner")
      assert.deepStrictEqual(yield* agent.getDesktop("gate"), ["window://desk.app/notes\n\nhello"])
      yield* TestClock.adjust("1 second")
    })
  )
})
