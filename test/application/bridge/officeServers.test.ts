import { assert, describe, it } from "@effect/vitest"
import { unknownComputer } from "../../../src/application/agent/OfficeView.ts"
import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as MemoryMcp from "../../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../../src/application/agent/Agent.ts"
import { makeOfficeMcpSession } from "../../../src/application/bridge/OfficeMcpSession.ts"
import type { OfficeMcpSessionOptions } from "../../../src/application/bridge/officeModelSession.ts"
import { combineInstructions } from "../../../src/application/bridge/officeServers.ts"
import { type McpMethod, McpSessionError } from "../../../src/application/ports/McpSession.ts"
import { asObject, type JsonObject } from "../../../src/domain/json.ts"
import { exposedName } from "../../../src/domain/tools/exposedNames.ts"
import { agentUnderTest, computerUnderTest, textResult, tool } from "../../conformance/members.ts"
import { makePlace } from "../../main/computers.ts"

const prompt = { name: "greet", title: "Greet", icons: [{ src: "a.png" }], arguments: [{ name: "who" }] }
const template = { uriTemplate: "note://{id}", name: "note" }

/** Answers the requests to an MCP server. */
const answer = (method: McpMethod, params: JsonObject) => {
  switch (method) {
    case "prompts/list":
      return Effect.succeed({ prompts: [prompt] })
    case "resources/templates/list":
      return Effect.succeed({ resourceTemplates: [template] })
    case "prompts/get":
      return params["name"] === "greet"
        ? Effect.succeed({ messages: [], vendor: 1 })
        : Effect.fail(new McpSessionError({ reason: "protocol", code: -32602, message: "no such prompt" }))
    case "completion/complete":
      return Effect.succeed({ completion: { values: ["Ada"] } })
  }
}

/** The session of an office as MCP server. */
const sessionOf = (agent: Agent["Service"], options: Partial<OfficeMcpSessionOptions> = {}) =>
  Effect.provideService(makeOfficeMcpSession({ office: "O1", ...options }), Agent, agent)

const bridged = Effect.fnUntraced(function* (parts: MemoryMcp.MemoryMcpServerOptions = {}) {
  const place = yield* makePlace
  const capabilities = { prompts: true, completions: true }
  const alpha = yield* MemoryMcp.makeMemoryMcpServer({ answer, capabilities, ...parts })
  yield* computerUnderTest(place, { name: "desk", servers: { alpha } })
  const agent = yield* agentUnderTest(place)
  const session = yield* sessionOf(agent)
  yield* agent.settled
  return { agent, alpha, request: session.request ?? (() => Effect.die("no requests")), session }
})

describe("OfficeMcpSession with MCP servers", () => {
  it.effect("offers prompts under the names of their Computers, otherwise unchanged", () =>
    Effect.gen(function* () {
      const { request } = yield* bridged()
      assert.deepStrictEqual(yield* request("prompts/list", {}), { prompts: [{ ...prompt, name: "desk__greet" }] })
    })
  )

  it.effect("names prompts as short as its tools", () =>
    Effect.gen(function* () {
      const { agent } = yield* bridged()
      const { request } = yield* sessionOf(agent, { maxToolNameLength: 10 })
      const listed = yield* request?.("prompts/list", {}) ?? Effect.die("no requests")
      const [{ name }] = listed["prompts"] as readonly [{ readonly name: string }]
      assert.strictEqual(name, exposedName({ owner: "desk", tool: "greet" }, 10))
    })
  )

  it.effect("also names the second prompt of a name at a Computer by its MCP server", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      const prompting = { answer, capabilities: { prompts: true } }
      yield* computerUnderTest(place, { name: "desk", servers: { alpha: prompting, beta: prompting } })
      const agent = yield* agentUnderTest(place)
      const { request } = yield* sessionOf(agent)
      yield* agent.settled
      const { prompts } = yield* request?.("prompts/list", {}) ?? Effect.die("no requests")
      assert.deepStrictEqual(
        (prompts as ReadonlyArray<JsonObject>).map(({ name }) => name),
        ["desk__greet", "desk__beta__greet"]
      )
    })
  )

  it.effect("gives each part of a resource the URI by which the office reads it", () =>
    Effect.gen(function* () {
      const read = Effect.succeed(["note://1", "note://1/more"].map((uri) => ({ uri, text: "x" })))
      const { session } = yield* bridged({ resources: [{ definition: { uri: "note://1", name: "note" }, read }] })
      const contents = yield* session.readResource("mcp://desk/alpha/note://1")
      assert.deepStrictEqual(
        contents.map(({ uri }) => uri),
        ["mcp://desk/alpha/note://1", "mcp://desk/alpha/note://1/more"]
      )
    })
  )

  it.effect("names no next page that an MCP server claims", () =>
    Effect.gen(function* () {
      const claim = { a2c_next_uri: "mcp://desk/other/secret://1", own: 1 }
      const definition = { uri: "note://1", name: "note" }
      const read = Effect.succeed([{ uri: "note://1", text: "x", _meta: claim }])
      const { session } = yield* bridged({ resources: [{ definition, read }] })
      const [content] = yield* session.readResource("mcp://desk/alpha/note://1")
      assert.deepStrictEqual(content?.["_meta"], { own: 1 })
    })
  )

  it.effect("names the pages of a large result of an office inside an office", () =>
    Effect.gen(function* () {
      const text = "0123456789".repeat(1000)
      const { agent } = yield* bridged({ tools: [tool("list", () => Effect.succeed(textResult(text)))] })
      const inner = yield* sessionOf(agent, { maxResult: 4096 })
      const place = yield* makePlace
      const lab = { ...(yield* MemoryMcp.makeMemoryMcpServer({})), connect: Effect.succeed(inner) }
      yield* computerUnderTest(place, { name: "outer", servers: { lab } })
      const outer = yield* agentUnderTest(place)
      const session = yield* sessionOf(outer)
      yield* outer.settled
      const { content } = yield* session.callTool("outer__desk__list", {})
      const link = (content as ReadonlyArray<JsonObject>).find(({ type }) => type === "resource_link")
      let read = ""
      for (let uri = link?.["uri"]; typeof uri === "string"; ) {
        const [page] = yield* session.readResource(uri)
        read += String(page?.["text"])
        uri = asObject(page?.["_meta"])["a2c_next_uri"]
      }
      assert.strictEqual(read, text)
    })
  )

  it.effect("passes requests to a restarting server on, which its Computer rejects for now", () =>
    Effect.gen(function* () {
      const { agent, alpha, request, session } = yield* bridged({ tools: [tool("echo")] })
      yield* session.listTools()
      yield* request("prompts/list", {})
      yield* alpha.crash("exit code 1")
      yield* TestClock.adjust("300 millis")
      yield* agent.settled
      assert.deepStrictEqual(yield* request("prompts/list", {}), { prompts: [] })
      const restarting = "MCP server 'alpha' is restarting, try again"
      const { message: prompt } = yield* Effect.flip(request("prompts/get", { name: "desk__greet" }))
      const { message: resource } = yield* Effect.flip(session.readResource("mcp://desk/alpha/note://1"))
      const completions = [
        { ref: { type: "ref/prompt", name: "desk__greet" } },
        { ref: { type: "ref/resource", uri: "mcp://desk/alpha/note://{id}" } }
      ]
      const failed = yield* Effect.forEach(completions, (params) => Effect.flip(request("completion/complete", params)))
      assert.deepStrictEqual(
        [prompt, resource, ...failed.map(({ message }) => message)],
        [restarting, restarting, restarting, restarting]
      )
      const { content, isError } = yield* session.callTool("desk__echo", {})
      assert.deepStrictEqual([content, isError], [[{ type: "text", text: restarting }], true])
      const task = yield* session.tasks?.start("desk__echo", {}) ?? Effect.undefined
      assert.deepInclude(yield* task?.result ?? Effect.undefined, { content, isError })
      assert.include(JSON.stringify(yield* session.callTool("desk__gone", {})), "There is no tool")
    })
  )

  it.effect("offers resource templates, whose resources can be read", () =>
    Effect.gen(function* () {
      const read = Effect.succeed([{ uri: "note://7", text: "seven" }])
      const { request, session } = yield* bridged({ resources: [{ definition: { uri: "note://7" }, read }] })
      const { resourceTemplates } = yield* request("resources/templates/list", {})
      assert.deepStrictEqual(resourceTemplates, [{ ...template, uriTemplate: "mcp://desk/alpha/note://{id}" }])
      const uri = "mcp://desk/alpha/note://7"
      assert.deepStrictEqual(yield* session.readResource(uri), [{ uri, text: "seven" }])
      const failure = yield* Effect.flip(session.readResource("mcp://desk/alpha/note://8"))
      assert.strictEqual(failure.code, -32002)
    })
  )

  it.effect("keeps the titles, icons and metadata of tools, with the URI of a user interface for the office", () =>
    Effect.gen(function* () {
      const details = { title: "Draw", icons: [{ src: "a.png" }], execution: { taskSupport: "optional" }, vendor: 1 }
      const _meta = { ui: { resourceUri: "ui://draw/form", visibility: ["model"] }, deep: { kept: [1] } }
      const { session } = yield* bridged({ tools: [tool("draw", undefined, { ...details, _meta })] })
      const found = (yield* session.listTools()).items.find(({ name }) => name === "desk__draw") ?? {}
      for (const [member, value] of Object.entries(details)) assert.deepStrictEqual(found[member], value)
      const meta = found["_meta"] as JsonObject
      assert.deepStrictEqual(meta["ui"], { resourceUri: "ui://desk/alpha/draw/form", visibility: ["model"] })
      assert.deepStrictEqual(meta["deep"], { kept: [1] })
    })
  )

  it.effect("drops members that clients would reject with the whole list", () =>
    Effect.gen(function* () {
      const icons = [{ src: "a.png", theme: "sepia" }]
      const { request, session } = yield* bridged({
        tools: [tool("draw", undefined, { title: 5, icons, vendor: 1 })],
        answer: (method) =>
          Effect.succeed(
            method === "prompts/list" ? { prompts: [{ ...prompt, icons, arguments: [{}] }] } : { resourceTemplates: [] }
          )
      })
      const found = (yield* session.listTools()).items.find(({ name }) => name === "desk__draw") ?? {}
      assert.deepStrictEqual([found["title"], found["icons"], found["vendor"]], [undefined, undefined, 1])
      assert.deepStrictEqual(yield* request("prompts/list", {}), { prompts: [{ name: "desk__greet", title: "Greet" }] })
    })
  )

  it("adds at most 16 000 characters of instructions", () => {
    const server = { instructions: "x".repeat(2000), tools: [], prompts: [], templates: [], completions: false }
    const implementation = { name: "s", version: "1" }
    const servers = Array.from({ length: 9 }, (_, index) => ({ ...server, id: `s${index}`, implementation }))
    const parts = { tools: [], desktop: [], documents: [], skills: [] }
    const computer = { ...unknownComputer, servers, ...parts }
    const view = { members: [], computers: new Map([["desk", computer]]) }
    assert.lengthOf(combineInstructions("own", view), 16_000)
  })

  it.effect("announces a changed list of prompts once", () =>
    Effect.gen(function* () {
      let prompts: ReadonlyArray<JsonObject> = [prompt]
      const { agent, alpha, request, session } = yield* bridged({
        answer: (method) => Effect.succeed(method === "prompts/list" ? { prompts } : { resourceTemplates: [] })
      })
      const changes = yield* session.watch({ tools: true, resources: true, prompts: true, uris: [] })
      prompts = [prompt, { name: "leave" }]
      yield* alpha.notify({ _tag: "PromptsChanged" })
      const [first] = yield* Stream.runCollect(Stream.take(changes, 1))
      assert.deepStrictEqual(first, { _tag: "PromptsChanged" })
      yield* agent.settled
      const { prompts: listed } = yield* request("prompts/list", {})
      assert.deepStrictEqual(
        (listed as ReadonlyArray<JsonObject>).map(({ name }) => name),
        ["desk__greet", "desk__leave"]
      )
    })
  )
})
