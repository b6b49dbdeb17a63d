import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { PageCommand } from "../../../../../src/domain/page/PageCommand.ts"
import { isJsonObject } from "../../../../../src/domain/json.ts"
import { line, olga, startWatched } from "../watchedServer.ts"

const target = { line, office: "O", computer: "pc" }

/** An office with a Computer, without an Agent; the reply to a request gets its request id. */
const officeWith = Effect.fnUntraced(function* (reply: object) {
  const server = yield* startWatched()
  const computer = yield* server.computer("pc", {
    answer: (_, request) => Effect.succeed({ ...reply, req_id: isJsonObject(request) ? request["req_id"] : undefined })
  })
  const execute = (command: PageCommand) => server.watch.execute(command, olga)
  /** The requests to the Computer, without their ids. */
  const requests = () =>
    computer.received
      .filter(({ event }) => event.startsWith("client:"))
      .map(({ event, value }) => [event, isJsonObject(value) ? { ...value, req_id: "" } : value] as const)
  return { ...server, execute, requests, computer }
})

const tool = { name: "list", description: "Lists", params_schema: {}, return_schema: null }

describe("GetTools", () => {
  it.effect("gives the tools of a Computer, also without an Agent", () =>
    Effect.gen(function* () {
      const { execute, requests } = yield* officeWith({ tools: [tool], starting_servers: ["slow"] })
      const reply = yield* execute({ _tag: "GetTools", ...target })
      assert.deepStrictEqual(JSON.parse(JSON.stringify(reply)), {
        tools: [{ name: "list", description: "Lists", paramsSchema: {}, returnSchema: null }],
        startingServers: ["slow"]
      })
      const request = { agent: "operator:olga", computer: "pc", req_id: "", a2c_features: ["mcp"] }
      assert.deepStrictEqual(requests(), [["client:get_tools", request]])
    })
  )

  it.effect("leaves out integers that the Server has rounded", () =>
    Effect.gen(function* () {
      const params_schema = { properties: { id: { default: 2 ** 60, maximum: 7 } } }
      const { execute } = yield* officeWith({ tools: [{ ...tool, params_schema }] })
      const reply = yield* execute({ _tag: "GetTools", ...target })
      assert.nestedPropertyVal(reply, "tools[0].paramsSchema.properties.id.maximum", 7)
      assert.notNestedProperty(reply, "tools[0].paramsSchema.properties.id.default")
    })
  )

  it.effect("gives no starting servers when the Computer names none", () =>
    Effect.gen(function* () {
      const { execute } = yield* officeWith({ tools: [] })
      assert.deepStrictEqual(yield* execute({ _tag: "GetTools", ...target }), { tools: [], startingServers: [] })
    })
  )

  it.effect("leaves no call in the stream", () =>
    Effect.gen(function* () {
      const { execute, watch } = yield* officeWith({ tools: [] })
      yield* watch.open
      yield* execute({ _tag: "GetTools", ...target })
      assert.deepStrictEqual((yield* watch.open).snapshot.calls, [])
    })
  )
})

describe("GetDesktop", () => {
  it.effect("gives the windows of a Computer", () =>
    Effect.gen(function* () {
      const windows = ["window://a\nOne", "window://b\nTwo"]
      const { execute } = yield* officeWith({ desktops: windows })
      assert.deepStrictEqual(yield* execute({ _tag: "GetDesktop", ...target }), { windows })
    })
  )
})

describe("FindDocuments", () => {
  it.effect("gives a page of the documents of a Computer", () =>
    Effect.gen(function* () {
      const document = { doc_ref: "d", uri: "dpe://d", file_uri: "file:///d", file_type: "md", title: "D" }
      const documents = [{ ...document, page_count: 1, server: "docs" }]
      const { execute, requests } = yield* officeWith({ documents, total_count: 41 })
      const reply = yield* execute({ _tag: "FindDocuments", ...target, keywords: ["tax"], offset: 20 })
      assert.deepInclude(reply, { total: 41 })
      assert.deepInclude("documents" in reply ? reply.documents[0] : undefined, { docRef: "d", title: "D" })
      const fields = { agent: "operator:olga", computer: "pc", keywords: ["tax"], offset: 20, limit: 20, req_id: "" }
      assert.deepStrictEqual(requests(), [["client:get_finder", fields]])
    })
  )

  it.effect("fails with 400 for a negative offset", () =>
    Effect.gen(function* () {
      const { execute, requests } = yield* officeWith({})
      const command = { _tag: "FindDocuments", ...target, keywords: [], offset: -1 } as const
      assert.strictEqual((yield* Effect.flip(execute(command))).code, 400)
      assert.deepStrictEqual(requests(), [])
    })
  )
})

describe("SendMcpRequest", () => {
  /** Computers that announce requests to their MCP servers, or do not. */
  const supporting = { tools: [], a2c_features: ["mcp"] }
  const request = {
    _tag: "SendMcpRequest",
    ...target,
    server: "notes",
    method: "prompts/get",
    params: { name: "a" }
  } as const
  const listing = { _tag: "SendMcpRequest", ...target, method: "servers/list", params: {} } as const
  const events = (sent: ReadonlyArray<readonly [string, unknown]>) => sent.map(([event]) => event)

  it.effect("gives the result of an MCP server", () =>
    Effect.gen(function* () {
      const { execute, requests } = yield* officeWith({ ...supporting, result: { messages: [1] } })
      assert.deepStrictEqual(yield* execute(request), { result: { messages: [1] } })
      const { method, params, server } = request
      const sent = { agent: "operator:olga", computer: "pc", req_id: "", server, method, params }
      assert.deepStrictEqual(requests(), [["client:mcp", sent]])
    })
  )

  it.effect("fails with the message of an MCP server", () =>
    Effect.gen(function* () {
      const { execute } = yield* officeWith({ ...supporting, failure: { code: -32602, message: "no such prompt" } })
      assert.deepInclude(yield* Effect.flip(execute(request)), { code: 400, message: "no such prompt" })
    })
  )

  it.effect("lists no servers of a Computer of another implementation, which never sees the request", () =>
    Effect.gen(function* () {
      const { execute, requests } = yield* officeWith({ tools: [] })
      assert.deepStrictEqual(yield* execute(listing), { result: { servers: [] } })
      assert.deepStrictEqual(events(requests()), ["client:get_tools"])
    })
  )
})

describe("a request of an operator to a Computer", () => {
  for (const [name, change] of [
    ["an absent Computer", { computer: "other" }],
    ["another office", { office: "P" }],
    ["a line that is not served", { line: "9.9" }],
    ["another line", { line: "0.4" }]
  ] as const) {
    it.effect(`fails with 404 for ${name}`, () =>
      Effect.gen(function* () {
        const { execute } = yield* officeWith({ tools: [] })
        assert.strictEqual((yield* Effect.flip(execute({ _tag: "GetTools", ...target, ...change }))).code, 404)
      })
    )
  }

  it.effect("fails with the error of the Computer", () =>
    Effect.gen(function* () {
      const { execute } = yield* officeWith({ code: 4014, message: "no such server" })
      assert.deepInclude(yield* Effect.flip(execute({ _tag: "GetTools", ...target })), {
        code: 4014,
        message: "no such server"
      })
    })
  )

  it.effect("fails with 500 for an invalid reply", () =>
    Effect.gen(function* () {
      const { execute } = yield* officeWith({ tools: "many" })
      const { code, message } = yield* Effect.flip(execute({ _tag: "GetTools", ...target }))
      assert.strictEqual(code, 500)
      assert.include(message, "The reply of the Computer is invalid")
    })
  )

  it.effect("fails with 500 for a reply without a value", () =>
    Effect.gen(function* () {
      const { computer, watch } = yield* startWatched()
      yield* computer()
      assert.strictEqual((yield* Effect.flip(watch.execute({ _tag: "GetTools", ...target }, olga))).code, 500)
    })
  )

  it.effect("fails with 408 when the Computer does not reply in ten seconds", () =>
    Effect.gen(function* () {
      const { computer, watch } = yield* startWatched()
      yield* computer("pc", { answer: () => Effect.never })
      const asking = watch.execute({ _tag: "GetTools", ...target }, olga)
      const request = yield* Effect.forkChild(Effect.flip(asking), { startImmediately: true })
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(request.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const { code, message } = yield* Fiber.join(request)
      assert.strictEqual(code, 408)
      assert.match(message, /\b10 ?s/)
    })
  )

  it.effect("fails with 404 when the Computer disconnects", () =>
    Effect.gen(function* () {
      const { computer, watch } = yield* startWatched()
      const { close } = yield* computer("pc", { answer: () => Effect.never })
      const asking = watch.execute({ _tag: "GetTools", ...target }, olga)
      const request = yield* Effect.forkChild(Effect.flip(asking), { startImmediately: true })
      yield* close
      assert.strictEqual((yield* Fiber.join(request)).code, 404)
    })
  )

  it.effect("is not audited", () =>
    Effect.gen(function* () {
      const { execute, operatorActions } = yield* officeWith({ tools: [] })
      yield* execute({ _tag: "GetTools", ...target })
      assert.deepStrictEqual(yield* operatorActions, [])
    })
  )
})
