import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { PageCommand } from "../../../../../src/domain/page/PageCommand.ts"
import type { ProtocolError } from "../../../../../src/domain/model/ProtocolError.ts"
import { line, olga, startWatched } from "../watchedServer.ts"
import { partsOf } from "../../../../page/scripted/snapshotParts.ts"

const target = { line, office: "O", computer: "pc" }
const getTools = { _tag: "GetTools", ...target } as const

/** An office with a Computer, without an Agent, and the outcome of a command. */
const officeWith = Effect.fnUntraced(function* (answer?: (request: unknown) => Effect.Effect<unknown>) {
  const server = yield* startWatched()
  const computer = yield* server.computer("pc", answer && { answer: (_, request) => answer(request) })
  const execute = (command: PageCommand) =>
    Effect.match(server.watch.execute(command, olga), {
      onSuccess: (reply): unknown => JSON.parse(JSON.stringify(reply)),
      onFailure: ({ code, message }: ProtocolError) => ({ code, message })
    })
  return { ...server, execute, pc: computer }
})

/** Replies to each request with its id. */
const replyWith = (reply: object) => (request: unknown) =>
  Effect.succeed({ ...reply, req_id: Object(request)["req_id"] })

const tool = { name: "list", description: "Lists", params_schema: {}, return_schema: null }
const shownTool = { name: "list", description: "Lists", paramsSchema: {}, returnSchema: null }
const withRoundedInteger = { ...tool, params_schema: { properties: { id: { default: 2 ** 60, maximum: 7 } } } }

const noTools = { tools: [] }
const noSuchServer = { code: 4014, message: "no such server" }
const absent = (computer: string) => ({ code: 404, message: `Computer '${computer}' not found in the office` })

describe("the request of an operator to a Computer", () => {
  it.effect.each([
    [
      "gives its tools, also without an Agent",
      getTools,
      { tools: [tool], starting_servers: ["slow"] },
      { tools: [shownTool], startingServers: ["slow"] },
      ["client:get_tools"]
    ],
    [
      "gives its tools without integers that the Server has rounded",
      getTools,
      { tools: [withRoundedInteger] },
      { tools: [{ ...shownTool, paramsSchema: { properties: { id: { maximum: 7 } } } }], startingServers: [] },
      ["client:get_tools"]
    ],
    [
      "fails with the message of an MCP server",
      { _tag: "SendMcpRequest", ...target, server: "notes", method: "prompts/get", params: { name: "a" } },
      { tools: [], a2c_features: ["mcp"], failure: { code: -32602, message: "no such prompt" } },
      { code: 400, message: "no such prompt" },
      ["client:mcp"]
    ],
    [
      "gives no servers of another implementation, which never sees the request",
      { _tag: "SendMcpRequest", ...target, method: "servers/list", params: {} },
      { tools: [] },
      { result: { servers: [] } },
      ["client:get_tools"]
    ],
    [
      "fails with 400 for a negative offset",
      { _tag: "FindDocuments", ...target, keywords: [], offset: -1 },
      {},
      { code: 400, message: "offset: Expected a value greater than or equal to 0" },
      []
    ],
    ["fails with the error of the Computer", getTools, noSuchServer, noSuchServer, ["client:get_tools"]],
    [
      "fails with 500 for an invalid reply",
      getTools,
      { tools: "many" },
      { code: 500, message: "The reply of the Computer is invalid: tools: Expected array" },
      ["client:get_tools"]
    ],
    ["fails with 404 for an absent Computer", { ...getTools, computer: "other" }, noTools, absent("other"), []],
    ["fails with 404 for another office", { ...getTools, office: "P" }, noTools, absent("pc"), []],
    ["fails with 404 for another line", { ...getTools, line: "0.4" }, noTools, absent("pc"), []],
    [
      "fails with 404 for a line that is not served",
      { ...getTools, line: "9.9" },
      noTools,
      { code: 404, message: "The Server does not serve the line 9.9" },
      []
    ]
  ] as ReadonlyArray<readonly [string, PageCommand, object, object, ReadonlyArray<string>]>)(
    "%s",
    ([, command, reply, outcome, events]) =>
      Effect.gen(function* () {
        const { execute, pc } = yield* officeWith(replyWith(reply))
        assert.deepStrictEqual(yield* execute(command), outcome)
        const requests = pc.received.map(({ event }) => event).filter((event) => event.startsWith("client:"))
        assert.deepStrictEqual(requests, events)
      })
  )

  it.effect("leaves no call in the stream", () =>
    Effect.gen(function* () {
      const { execute, watch } = yield* officeWith(replyWith({ tools: [] }))
      yield* watch.open
      assert.deepStrictEqual(yield* execute(getTools), { tools: [], startingServers: [] })
      assert.deepStrictEqual(partsOf((yield* watch.open).snapshot).calls, [])
    })
  )

  it.effect("fails with 500 for a reply without a value", () =>
    Effect.gen(function* () {
      const { execute } = yield* officeWith()
      assert.deepInclude(yield* execute(getTools), { code: 500 })
    })
  )

  it.effect("fails with 408 when the Computer does not reply in ten seconds", () =>
    Effect.gen(function* () {
      const { execute } = yield* officeWith(() => Effect.never)
      const request = yield* Effect.forkChild(execute(getTools), { startImmediately: true })
      yield* TestClock.adjust("9 seconds")
      assert.isUndefined(request.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const { code, message } = Object(yield* Fiber.join(request))
      assert.strictEqual(code, 408)
      assert.match(message, /\b10 ?s/)
    })
  )

  it.effect("fails with 404 when the Computer disconnects", () =>
    Effect.gen(function* () {
      const { execute, pc } = yield* officeWith(() => Effect.never)
      const request = yield* Effect.forkChild(execute(getTools), { startImmediately: true })
      yield* pc.close
      assert.deepInclude(yield* Fiber.join(request), { code: 404 })
    })
  )
})
