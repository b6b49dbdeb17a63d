import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Fiber, Logger } from "effect"
import { TestClock } from "effect/testing"
import { type AgentRequests } from "../../../src/application/agent/AgentRequests.ts"
import { RawBody } from "../../../src/adapters/bytes/RawBody.ts"
import { type JsonObject, parseJsonObject } from "../../../src/domain/json.ts"
import { noReply, replyWith, requestsAt } from "./requests/requestsAt.ts"
import { makeKnownPeers } from "../../../src/application/agent/mcpChannel.ts"
import { firstText } from "../../firstText.ts"
import type { ContentBlock } from "../../../src/domain/model/ToolResult.ts"
import type { ProtocolLine } from "../../../src/domain/wire/ProtocolLine.ts"
import { lineNamed } from "../../../src/domain/wire/lines.ts"
import type { ConnectedAgent } from "../../../src/main/entrypoints/promise.ts"

/** The method of every request to a Computer, also in the Promise API. */
const methods = {
  toolCall: "callTool",
  getTools: "getTools",
  getConfig: "getConfig",
  getDesktop: "getDesktop",
  getDpe: "getDpe",
  getResources: "getResources",
  findDocuments: "findDocuments",
  getApprovals: "getApprovals",
  decideApproval: "decideApproval",
  skills: "skills",
  getSkill: "readSkill",
  getBlob: "blob",
  putBlob: "putBlob",
  mcp: "mcpRequest"
} as const satisfies { readonly [Call in keyof ProtocolLine["calls"]]: keyof AgentRequests & keyof ConnectedAgent }

/** The newest line, which has all calls. */
const line = lineNamed("0.4")

type Method = (typeof methods)[keyof typeof methods]

const requestOf: { readonly [M in Method]: (agent: AgentRequests) => Effect.Effect<unknown, unknown> } = {
  callTool: ({ callTool }) => callTool({ computer: "pc-1", tool: "echo" }),
  getTools: ({ getTools }) => getTools("pc-1"),
  getConfig: ({ getConfig }) => getConfig("pc-1"),
  getDesktop: ({ getDesktop }) => getDesktop("pc-1"),
  getDpe: ({ getDpe }) => getDpe("pc-1", "dpe://documents/a"),
  getResources: ({ getResources }) => getResources("pc-1", "files"),
  findDocuments: ({ findDocuments }) => findDocuments("pc-1"),
  getApprovals: ({ getApprovals }) => getApprovals("pc-1"),
  decideApproval: ({ decideApproval }) => decideApproval("pc-1", "a1", { action: "deny" }),
  skills: ({ skills }) => skills("pc-1"),
  readSkill: ({ readSkill }) => readSkill("pc-1", "s"),
  blob: ({ blob }) => blob("pc-1", "h"),
  putBlob: ({ putBlob }) => putBlob("pc-1", new Uint8Array(1)),
  mcpRequest: ({ mcpRequest }) => mcpRequest("pc-1", { server: "s", method: "prompts/get", params: {} })
}

/** Calls a tool whose Computer answers with this JSON text. Gives the result and the sent arguments. */
const callWith = (params: JsonObject, reply = '{"content":[]}') =>
  Effect.gen(function* () {
    const { agent, sent } = requestsAt(() => Effect.succeed([RawBody.unparsed(Buffer.from(`${reply}]`))]))
    return { result: yield* agent.callTool({ computer: "pc-1", tool: "echo", params }), sent }
  })

describe("AgentRequests and large integers", () => {
  for (const text of [
    '{"id":1917043659912705296}',
    '{"ids":[1,-9007199254740993]}',
    '{"filter":{"block":18446744073709551615}}',
    '{"wei":10000000000000001}'
  ]) {
    it.effect(`does not send the arguments ${text}`, () =>
      Effect.gen(function* () {
        const { result, sent } = yield* callWith(parseJsonObject(text) ?? {})
        assert.deepStrictEqual(sent, [])
        assert.isTrue(result.isError)
        assert.match(
          firstText(result),
          /^Tool 'echo' was not called: integers beyond .* as text\.\n- \/(id|ids\/1|filter\/block|wei)$/
        )
      })
    )
  }

  it.effect("sends the largest safe integer, fractions, and integers as text", () =>
    Effect.gen(function* () {
      const params = { id: "1917043659912705296", last: Number.MAX_SAFE_INTEGER, ratio: 0.1234567890123456, max: 1e300 }
      assert.lengthOf((yield* callWith(params)).sent, 1)
    })
  )

  for (const [reply, pointers] of [
    ['{"content":[],"structuredContent":{"id":1917043659912705296}}', ["/structuredContent/id"]],
    ['{"content":[],"structuredContent":[1,9007199254740993],"meta":{"a":1}}', ["/structuredContent/1"]],
    ['{"content":[],"meta":{"cursor":-9223372036854775808}}', ["/meta/cursor"]],
    ['{"content":[{"type":"text","text":"1917043659912705296"}],"structuredContent":{"id":7}}', undefined]
  ] as const) {
    it.effect(`marks the integers of ${reply} with ${JSON.stringify(pointers)}`, () =>
      Effect.gen(function* () {
        const { result } = yield* callWith({}, reply)
        assert.deepStrictEqual(result.meta?.["a2c_rounded_integers"], pointers)
      })
    )
  }
})

describe("a list of tools of another implementation", () => {
  it.effect("leaves out the rounded integers of tools, and logs them once", () =>
    Effect.gen(function* () {
      const tool = {
        name: "echo",
        bundle_id: "alpha",
        description: "",
        params_schema: { properties: { id: { default: 2 ** 60, type: "integer" } } },
        return_schema: { properties: { id: { enum: [1, 2 ** 60] } } },
        meta: { shard: 2 ** 60 }
      }
      const { agent } = requestsAt(replyWith(() => ({ tools: [tool, { ...tool, meta: null }] })))
      const lines: Array<string> = []
      const logger = Logger.layer([Logger.make(({ message }) => void lines.push(JSON.stringify(message)))])
      const tools = yield* Effect.provide(Effect.andThen(agent.getTools("pc-1"), agent.getTools("pc-1")), logger)
      assert.deepStrictEqual(
        tools.map(({ meta, paramsSchema, returnSchema }) => ({ meta, paramsSchema, returnSchema })),
        [{}, undefined].map((meta) => ({
          meta,
          paramsSchema: { properties: { id: { type: "integer" } } },
          returnSchema: { properties: { id: {} } }
        }))
      )
      const found = lines.filter((line) => line.includes("rounded integers omitted from listing"))
      assert.lengthOf(found, 1)
      for (const part of ["pc-1/echo", "/paramsSchema/properties/id/default", "/returnSchema/properties/id/enum"])
        assert.include(found[0], part)
    })
  )
})

describe("AgentRequests", () => {
  it("has a method for every request to a Computer", () =>
    assert.sameMembers(Object.keys(methods), Object.keys(line.calls)))

  for (const [call, method] of Object.entries(methods) as ReadonlyArray<[keyof typeof methods, Method]>) {
    it.effect(`sends the event of ${call} by ${method}`, () =>
      Effect.gen(function* () {
        const { agent, sent } = requestsAt(noReply)
        yield* Effect.flip(requestOf[method](agent))
        assert.deepStrictEqual(
          sent.map(({ event }) => event),
          [line.calls[call]?.event]
        )
      })
    )
  }
})

describe("a request of an Agent to MCP servers", () => {
  /** The seconds for which requests wait at the Server. */
  const waitsOf = Effect.fnUntraced(function* (
    serverPassesMcp: boolean,
    send: (requests: AgentRequests) => Effect.Effect<unknown, unknown>
  ) {
    const { agent, sent } = requestsAt(noReply, { serverPassesMcp })
    yield* Effect.forkChild(Effect.ignore(send(agent)), { startImmediately: true })
    return sent.map(({ seconds }) => seconds)
  })

  it.effect.each([true, false])("waits longer than its Computer, also as a tool call: %s", (serverPassesMcp) =>
    Effect.gen(function* () {
      const request = { server: "s", method: "prompts/get", params: {}, timeout: 100 } as const
      const waits = yield* waitsOf(serverPassesMcp, ({ mcpRequest }) => mcpRequest("pc-1", request))
      assert.deepStrictEqual(waits, [105])
    })
  )

  it.effect("waits for a change of a task as long as its Computer, and a little longer", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* waitsOf(true, ({ task }) => task("pc-1", "t").result), [25])
    })
  )
})

describe("a chunk of an upload", () => {
  const long = { name: "ü".repeat(256), uploadId: "報".repeat(256), hint: "報".repeat(255) }

  /** The sizes of the messages that an upload sends to a Server with this limit. */
  const upload = (maxBytes: number) =>
    Effect.gen(function* () {
      const reply = { upload_id: long.uploadId, landing_path: "/f" }
      const { agent, sent } = requestsAt(
        replyWith(({ body }) => ({ ...reply, chunk_offset: body["chunk_offset"] })),
        { agent: long.name, computer: long.name, maxBytes }
      )
      yield* agent.putBlob(long.name, new Uint8Array(20_000), { nameHint: long.hint })
      return sent.map(({ body }) => Buffer.byteLength(JSON.stringify(body)))
    })

  it.effect.each([4096, 10_000])("has a message that fits, also with the longest names: %d bytes", (maxBytes) =>
    Effect.gen(function* () {
      const sizes = yield* upload(maxBytes)
      assert.isAtMost(Math.max(...sizes), maxBytes)
      assert.isAbove(sizes.length, 1)
    })
  )

  it.effect("fits into no message below a limit, which the error names", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(upload(1500))
      assert.deepInclude(Object(error), { _tag: "ProtocolError", code: 413 })
      assert.include(error.message, "1500")
    })
  )
})

describe("the first request of an Agent to an MCP server", () => {
  it.effect("follows those that tell whether the Server and the Computer pass it, once", () =>
    Effect.gen(function* () {
      const replies: { readonly [event: string]: JsonObject } = {
        "server:list_room": { sessions: [], a2c_features: ["mcp"] },
        "client:get_tools": { tools: [], a2c_features: ["mcp"] },
        "client:mcp": { result: {} }
      }
      const { agent, sent } = requestsAt(
        replyWith(({ event }) => replies[event] ?? {}),
        { knownPeers: makeKnownPeers() }
      )
      const request = { server: "s", method: "prompts/get", params: {} } as const
      yield* agent.mcpRequest("pc-1", request)
      yield* agent.mcpRequest("pc-1", request)
      assert.deepStrictEqual(
        sent.map(({ event }) => event),
        ["server:list_room", "client:get_tools", "client:mcp", "client:mcp"]
      )
    })
  )
})

describe("the blobs of a result", () => {
  it.effect.each([
    ["a call", 5, ({ callTool }: AgentRequests) => callTool({ computer: "pc-1", tool: "show", timeout: 5 })],
    ["a started call", 60, ({ task }: AgentRequests) => task("pc-1", "t1").result]
  ] as const)("are read in the time for them together: %s", ([, seconds, call]) =>
    Effect.gen(function* () {
      const picture: ContentBlock = { type: "image", data: "", mimeType: "image/png", _meta: { a2c_blob_handle: "h" } }
      const result = { content: [picture, picture], isError: false }
      const task = { tool: "show", state: "completed", createdAt: 1, updatedAt: 2, version: 3, result }
      const reply = replyWith(() => ({ ...result, result: task }))
      const { agent } = requestsAt((sent) => (sent.event === "client:get_blob" ? Effect.never : reply(sent)))
      const calling = yield* Effect.forkChild(call(agent))
      yield* TestClock.adjust(Duration.seconds(seconds - 1))
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.isDefined(calling.pollUnsafe())
      assert.deepStrictEqual((yield* Fiber.join(calling)).content, [picture, picture])
    })
  )
})
