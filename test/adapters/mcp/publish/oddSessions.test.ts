import { assert, describe, it } from "@effect/vitest"
import { Effect, Result, type Scope } from "effect"
import {
  makeMemoryMcpServer,
  type MemoryMcpServer,
  type MemoryResource,
  type MemoryTool
} from "../../../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../../../src/application/agent/Agent.ts"
import { makeOfficeMcpSession } from "../../../../src/application/bridge/OfficeMcpSession.ts"
import type { McpSession } from "../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { judges } from "../../../application/bridge/listings/judges.ts"
import { type OddItem, oddItems, wholeItems } from "../../../application/bridge/listings/oddItems.ts"
import { agentUnderTest, computerUnderTest } from "../../../conformance/members.ts"
import { makePlace } from "../../../main/computers.ts"

const text = (value: string) => ({ type: "text", text: value })
const unsafe = JSON.parse('{ "a": 1, "__proto__": { "b": 2 } }') as unknown

const toolOf = (definition: JsonObject, result: unknown = { content: [] }): MemoryTool => ({
  definition: definition as MemoryTool["definition"],
  run: () => Effect.succeed(result as JsonObject)
})

const resourceOf = (definition: JsonObject, contents: unknown = []): MemoryResource => ({
  definition: definition as MemoryResource["definition"],
  read: Effect.succeed(contents as ReadonlyArray<JsonObject>)
})

/** A session as a host sees it. */
interface Published {
  readonly session: McpSession
  readonly nameOf: (name: string) => string
  readonly uriOf: (uri: string) => string
}

/** How a server reaches a host. */
const ways: ReadonlyArray<
  readonly [way: string, open: (server: MemoryMcpServer) => Effect.Effect<Published, unknown, Scope.Scope>]
> = [
  [
    "served directly",
    (server) =>
      Effect.map(server.connect, (session) => ({
        session,
        nameOf: (name: string) => name,
        uriOf: (uri: string) => uri
      }))
  ],
  [
    "in a published office",
    Effect.fnUntraced(function* (server) {
      const place = yield* makePlace
      yield* computerUnderTest(place, { name: "desk", servers: { alpha: server } })
      const agent = yield* agentUnderTest(place)
      const session = yield* Effect.provideService(makeOfficeMcpSession({ office: "O1", tools: "all" }), Agent, agent)
      yield* agent.settled
      return { session, nameOf: (name) => `desk__${name}`, uriOf: (uri) => `mcp://desk/alpha/${uri}` }
    })
  ]
]

const odd = {
  tools: oddItems(wholeItems.tools, "name", (index) => `odd-${index}`),
  resources: oddItems(wholeItems.resources, "uri", (index) => `ui://app/odd-${index}`),
  templates: oddItems(wholeItems.templates, "uriTemplate", (index) => `note://odd-${index}/{id}`),
  prompts: oddItems(wholeItems.prompts, "name", (index) => `odd-${index}`)
}

const withFine = (items: ReadonlyArray<OddItem>, fine: JsonObject) => [...items.map(({ item }) => item), fine]

/** The identities of the items that have one. */
const identitiesOf = (items: ReadonlyArray<JsonObject>, identity: string): ReadonlyArray<unknown> => [
  ...new Set(items.map(({ [identity]: value }) => value).filter((value) => typeof value === "string"))
]

describe("a session with odd lists that is served directly", () => {
  it.live("lists every item that has a name, for all official clients", () =>
    Effect.gen(function* () {
      const prompts = withFine(odd.prompts, { name: "fine" })
      const templates = withFine(odd.templates, { uriTemplate: "fine://{id}", name: "fine" })
      const tools = withFine(odd.tools, { name: "fine", inputSchema: { type: "object" } })
      const resources = withFine(odd.resources, { uri: "fine://1" })
      const server = yield* makeMemoryMcpServer({
        capabilities: { prompts: true },
        tools: tools.map((tool) => toolOf(tool, { content: [text("fine")] })),
        resources: resources.map((resource) => resourceOf(resource)),
        answer: (method) => Effect.succeed(method === "prompts/list" ? { prompts } : { resourceTemplates: templates })
      })
      const session = yield* server.connect
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        const isCallable = ({ inputSchema = {} }: JsonObject) => {
          const { type = "object" } = (inputSchema ?? {}) as JsonObject
          return [type].flat().includes("object") || typeof type !== "string" || type === "x" || type === ""
        }
        const listed = [
          identitiesOf(yield* judge.tools, "name"),
          identitiesOf(yield* judge.resources, "uri"),
          identitiesOf(yield* judge.templates, "uriTemplate"),
          identitiesOf(yield* judge.prompts, "name")
        ]
        assert.deepStrictEqual(
          listed,
          [
            identitiesOf(tools.filter(isCallable), "name"),
            identitiesOf(resources, "uri"),
            identitiesOf(templates, "uriTemplate"),
            identitiesOf(prompts, "name")
          ],
          name
        )
        assert.deepStrictEqual((yield* judge.call("fine"))["content"], [text("fine")], name)
      }
    })
  )
})

const number = { type: "object", properties: { n: { type: "number" } }, required: ["n"] }
const draft07 = "http://json-schema.org/draft-07/schema#"

/** Schemas of results whose root is not an object by its `type` alone, and content that matches. */
const otherRoots: ReadonlyArray<readonly [schema: JsonObject, content: unknown]> = [
  [{}, { n: 1 }],
  [{}, [1]],
  [{ oneOf: [number, { type: "string" }] }, { n: 1 }],
  [{ oneOf: [number, { type: "string" }] }, "text"],
  [{ anyOf: [number, { type: "array" }] }, [{ n: 1 }]],
  [{ allOf: [number] }, { n: 1 }],
  [{ properties: number.properties, required: ["n"] }, { n: 1 }],
  [{ type: "array", items: number }, [{ n: 1 }, { n: 2 }]],
  [{ type: "array", items: { $ref: "#/$defs/n" }, $defs: { n: number } }, [{ n: 1 }]],
  [{ $ref: "#/$defs/n", $defs: { n: number } }, { n: 1 }],
  [{ $id: "https://a.example/s", oneOf: [{ $ref: "#/$defs/n" }], $defs: { n: number } }, { n: 1 }],
  [{ $schema: draft07, type: "array", items: [number] }, [{ n: 1 }]],
  [{ $ref: "https://a.example/other" }, { n: 1 }],
  [{ $ref: "#/$defs/none" }, { n: 1 }],
  [{ $anchor: "a", $ref: "#a" }, { n: 1 }],
  [{ type: ["object", "null"], properties: number.properties }, { n: 1 }],
  [{ type: "number", nullable: true }, 0],
  [{ type: "boolean" }, false],
  [{ type: "string" }, ""],
  [{ type: "strin" }, { n: 1 }],
  [{ type: null }, { n: 1 }],
  [{ enum: [{ n: 1 }] }, { n: 1 }]
]

describe.each(ways)("a session with schemas of results of any type, %s", (_way, openWay) => {
  it.live("lists them and gives their content to all official clients", () =>
    Effect.gen(function* () {
      const tools = otherRoots.map(([outputSchema, structuredContent], index) =>
        toolOf({ name: `t${index}`, outputSchema }, { content: [text("kept")], structuredContent })
      )
      const { nameOf, session } = yield* openWay(yield* makeMemoryMcpServer({ tools }))
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        assert.isAtLeast((yield* judge.tools).length, tools.length, name)
        for (const [index, [schema, expected]] of otherRoots.entries()) {
          const { content, structuredContent } = yield* Effect.orDie(judge.tryCall(nameOf(`t${index}`)))
          const label = `${name}, ${JSON.stringify(schema)}`
          assert.deepStrictEqual(content, [text("kept")], label)
          assert.include(
            [expected, { result: expected }].map((one) => JSON.stringify(one)),
            JSON.stringify(structuredContent),
            label
          )
        }
      }
    })
  )
})

describe("a tool that is served directly", () => {
  it.live.each(["kept", 5])("gives content that is the value %j as text", (content) =>
    Effect.gen(function* () {
      const server = yield* makeMemoryMcpServer({ tools: [toolOf({ name: "t" }, { content })] })
      const session = yield* server.connect
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        assert.deepStrictEqual((yield* judge.call("t"))["content"], [text(String(content))], name)
      }
    })
  )

  it.live("gives content that is null, where its schema allows it", () =>
    Effect.gen(function* () {
      const nullable = { name: "t", outputSchema: { type: ["number", "null"] } }
      const server = yield* makeMemoryMcpServer({ tools: [toolOf(nullable, { structuredContent: null })] })
      const session = yield* server.connect
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        yield* judge.tools
        const { structuredContent } = yield* Effect.orDie(judge.tryCall("t"))
        assert.deepStrictEqual(structuredContent, name.endsWith("2026-07-28") ? null : { result: null }, name)
      }
    })
  )
})

/** Results with one odd part, and the text that a host should get of each. */
const oddResults: ReadonlyArray<readonly [result: unknown, text: string]> = [
  [{ content: null, structuredContent: { n: 1 } }, '"n":1'],
  [{ content: [text("kept"), null], structuredContent: { n: 1 } }, "kept"],
  [{ content: text("kept"), structuredContent: { n: 1 } }, "kept"],
  [{ content: [text("kept"), { type: "hologram" }], structuredContent: { n: 1 } }, "kept"],
  [{ content: [text("kept"), { type: "image", data: "no!", mimeType: 5 }], structuredContent: { n: 1 } }, "kept"],
  [{ content: [text("kept")], structuredContent: { n: 1 }, isError: null }, "kept"],
  [{ content: [text("kept")], isError: "yes" }, "kept"],
  [{ content: [text("kept")], isError: { code: 5 }, structuredContent: 5 }, "kept"],
  [{ content: [text("kept")], structuredContent: { n: 1 }, resultType: "odd" }, "kept"],
  [{ content: [text("kept")], structuredContent: { n: 1 }, resultType: null, ttlMs: "x" }, "kept"],
  [{ content: [text("kept")], structuredContent: { n: 1 }, _meta: null }, "kept"],
  [{ content: [text("kept")], structuredContent: { n: 1 }, _meta: { progressToken: {} } }, "kept"],
  [{ content: [text("kept")], structuredContent: { n: 1 }, _meta: unsafe }, "kept"],
  [{ content: [text("kept")], isError: true, structuredContent: { code: 5 } }, "kept"],
  [{ content: [text("kept")], isError: "true", structuredContent: [5] }, "kept"],
  [{ content: [], isError: true, structuredContent: { code: 5 } }, "code"],
  [{ content: null, isError: true, structuredContent: null }, '"isError":true']
]

describe.each(ways)("a session with odd results %s", (_way, openWay) => {
  it.live("gives them without their odd parts alone, for all official clients", () =>
    Effect.gen(function* () {
      const tools = oddResults.map(([result], index) => toolOf({ name: `t${index}`, outputSchema: number }, result))
      const { nameOf, session } = yield* openWay(yield* makeMemoryMcpServer({ tools }))
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        yield* judge.tools
        for (const [index, [result, expected]] of oddResults.entries()) {
          const reply = yield* Effect.orDie(judge.tryCall(nameOf(`t${index}`)))
          assert.include(JSON.stringify(reply), expected, `${name}, ${JSON.stringify(result)}`)
        }
      }
    })
  )

  it.live("gives the structured content of errors of a tool without a schema", () =>
    Effect.gen(function* () {
      const result = { content: [text("full")], isError: true, structuredContent: { code: 5 } }
      const { nameOf, session } = yield* openWay(yield* makeMemoryMcpServer({ tools: [toolOf({ name: "t" }, result)] }))
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        yield* judge.tools
        assert.deepInclude(yield* judge.call(nameOf("t")), { isError: true, structuredContent: { code: 5 } }, name)
      }
    })
  )
})

/** Blocks of every type, each with all members. */
const blocks: ReadonlyArray<JsonObject> = [
  { ...text("whole"), annotations: { audience: ["user"], priority: 0.5 }, _meta: { a: 1 } },
  { type: "image", data: "AAEC", mimeType: "image/png" },
  { type: "resource", resource: { uri: "odd://1", mimeType: "text/plain", text: "embedded", _meta: { a: 1 } } },
  { type: "resource_link", uri: "odd://1", name: "a", icons: [{ src: "https://a.example/i.png" }], size: 1 }
]

const kept = { role: "assistant", content: text("kept") }
const nested = (depth: number) => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`) as unknown
/** The values of a member that a message of the office may hold, or not. */
const deepValues = [400, ...Array.from({ length: 30 }, (_, index) => 100 + index)].map(nested)

const oddPrompts: ReadonlyArray<OddItem> = [
  ...blocks.flatMap((content) =>
    oddItems({ message: { role: "user", content } }, "id", String).map(({ item, label }) => ({
      item: { description: "does it", messages: [item["message"], kept] },
      label
    }))
  ),
  ...oddItems({ description: "does it", _meta: { a: 1, progressToken: 1 } }, "id", String).map(({ item, label }) => ({
    item: { ...item, messages: [kept] },
    label
  })),
  ...[
    { messages: [text("bare"), kept] },
    { messages: [{ role: "system", content: text("of a system") }, kept] },
    { messages: [{ role: "user", content: [text("first"), text("second")] }, kept] },
    { messages: ["plain", kept] },
    { messages: kept },
    { messages: [kept], resultType: "odd", ttlMs: "x" },
    { messages: [{ role: "user", content: { type: "video", src: "a" } }, kept] },
    ...deepValues.map((deep) => ({ messages: [{ role: "user", content: { ...text("a"), _meta: { deep } } }, kept] })),
    { messages: [{ role: "user", content: { ...text("a"), _meta: unsafe } }, kept], _meta: unsafe }
  ].map((item) => ({ item, label: JSON.stringify(item).slice(0, 200) }))
]

const keptContents = { uri: "odd://kept", text: "kept" }

const oddContents: ReadonlyArray<OddItem> = [
  ...[
    { uri: "odd://1", mimeType: "text/plain", text: "whole", _meta: { a: 1 } },
    { uri: "odd://1", mimeType: "image/png", blob: "AAEC", annotations: { priority: 1 } },
    { uri: "odd://1", blob: "data:image/png;base64,AAEC" },
    { uri: "odd://1", blob: "no!" }
  ].flatMap((contents) => oddItems({ contents }, "id", String)),
  ...[unsafe, ...deepValues].map((value) => ({
    item: { contents: { uri: "odd://1", text: "a", _meta: { value } } },
    label: JSON.stringify(value).slice(0, 200)
  }))
]

describe.each(ways)("a session with odd replies %s", (_way, openWay) => {
  it.live("gives prompts without their odd parts alone, for all official clients", () =>
    Effect.gen(function* () {
      const server = yield* makeMemoryMcpServer({
        capabilities: { prompts: true },
        answer: (method, { arguments: args }) =>
          Effect.succeed(
            method === "prompts/get"
              ? (oddPrompts[Number((args as JsonObject)["index"])]?.item ?? {})
              : { prompts: [{ name: "odd" }], resourceTemplates: [] }
          )
      })
      const { nameOf, session } = yield* openWay(server)
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        for (const [index, { label }] of oddPrompts.entries()) {
          const reply = yield* Effect.match(judge.prompt(nameOf("odd"), { index: String(index) }), {
            onSuccess: (result) => JSON.stringify(result),
            onFailure: ({ message }) => message
          })
          assert.include(reply, "kept", `${name}, ${label}`)
        }
      }
    })
  )

  it.live("gives contents without their odd parts alone, for all official clients", () =>
    Effect.gen(function* () {
      const resources = oddContents.map(({ item }, index) =>
        resourceOf({ uri: `odd://${index}`, name: "odd" }, [item["contents"], keptContents])
      )
      const { session, uriOf } = yield* openWay(yield* makeMemoryMcpServer({ resources }))
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        for (const [index, { label }] of oddContents.entries()) {
          const reply = yield* Effect.match(judge.read(uriOf(`odd://${index}`)), {
            onSuccess: (result) => JSON.stringify(result),
            onFailure: ({ message }) => message
          })
          assert.include(reply, '"kept"', `${name}, ${label}`)
        }
      }
    })
  )

  it.live("gives contents without a URI that of the request", () =>
    Effect.gen(function* () {
      const resources = [resourceOf({ uri: "odd://1", name: "odd" }, [{ uri: null, text: "a" }, { text: "b" }])]
      const { session, uriOf } = yield* openWay(yield* makeMemoryMcpServer({ resources }))
      const uri = uriOf("odd://1")
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        const { contents } = yield* Effect.orDie(judge.read(uri))
        assert.deepStrictEqual(
          contents,
          [
            { uri, text: "a" },
            { uri, text: "b" }
          ],
          name
        )
      }
    })
  )

  it.live.each([
    ["without messages", {}, "no messages"],
    ["with a number of messages", { messages: 3 }, "no messages"],
    ["with messages that are null", { messages: null }, "no messages"],
    ["with no message that is one", { messages: [null] }, "no messages"]
  ] as const)("fails a prompt %s with the reason", ([, prompt, reason]) =>
    Effect.gen(function* () {
      const server = yield* makeMemoryMcpServer({
        capabilities: { prompts: true },
        answer: (method) =>
          Effect.succeed(method === "prompts/get" ? prompt : { prompts: [{ name: "odd" }], resourceTemplates: [] })
      })
      const { nameOf, session } = yield* openWay(server)
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        const reply = yield* Effect.result(judge.prompt(nameOf("odd")))
        assert.include(Result.isFailure(reply) ? reply.failure.message : "", reason, name)
      }
    })
  )

  it.live.each([
    ["no text", [{ uri: "odd://1" }]],
    ["bad base64", [{ uri: "odd://1", blob: "no!" }]],
    ["nothing but null", [null]],
    ["a blob that is a number", [{ uri: "odd://1", blob: 5 }]]
  ] as const)("fails a read of contents with %s with the reason", ([, contents]) =>
    Effect.gen(function* () {
      const resources = [resourceOf({ uri: "odd://1", name: "odd" }, contents)]
      const { session, uriOf } = yield* openWay(yield* makeMemoryMcpServer({ resources }))
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        const reply = yield* Effect.result(judge.read(uriOf("odd://1")))
        assert.include(Result.isFailure(reply) ? reply.failure.message : "", "neither a text nor base64", name)
      }
    })
  )

  it.live("keeps what stands beside a part that is nested at any depth, for all official clients", () =>
    Effect.gen(function* () {
      const named = deepValues.map((deep, index) => ({ name: `deep-${index}`, _meta: { deep } }))
      const server = yield* makeMemoryMcpServer({
        capabilities: { prompts: true },
        tools: [...named, { name: "fine" }].map((tool, index) =>
          toolOf(tool, { content: [text("fine"), { ...text("deep"), _meta: { deep: deepValues[index] } }] })
        ),
        resources: [...named, { name: "fine" }].map((item) => resourceOf({ ...item, uri: `ui://app/${item.name}` })),
        answer: (method) =>
          Effect.succeed(
            method === "prompts/list"
              ? { prompts: [...named, { name: "fine" }] }
              : { resourceTemplates: [...named, { name: "fine" }].map((item) => ({ ...item, uriTemplate: item.name })) }
          )
      })
      const { nameOf, session } = yield* openWay(server)
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        const listed = [yield* judge.tools, yield* judge.resources, yield* judge.templates, yield* judge.prompts]
        for (const items of listed) assert.include(JSON.stringify(items), "fine", name)
        for (const { name: tool } of yield* judge.tools) {
          if (String(tool).includes("deep")) {
            assert.include(JSON.stringify(yield* judge.call(String(tool))), "fine", `${name}, ${String(tool)}`)
          }
        }
        assert.include(JSON.stringify(yield* judge.call(nameOf("fine"))), "fine", name)
      }
    })
  )

  it.live.each([
    [{ values: ["a", 5, null] }, { values: ["a"] }],
    [{ values: "a", total: "many", hasMore: "yes" }, { values: ["a"] }],
    [
      { values: [], total: 0, hasMore: false },
      { values: [], total: 0, hasMore: false }
    ],
    [{ values: ["a"], total: null, hasMore: null }, { values: ["a"] }],
    [
      { values: Array.from({ length: 300 }, () => "a"), total: 300 },
      { values: Array.from({ length: 100 }, () => "a"), total: 300, hasMore: true }
    ]
  ])("completes an argument with the values that have a meaning: %.60j", ([completion, expected]) =>
    Effect.gen(function* () {
      const server = yield* makeMemoryMcpServer({
        capabilities: { prompts: true, completions: true },
        answer: (method) =>
          Effect.succeed(
            method === "completion/complete" ? { completion } : { prompts: [{ name: "odd" }], resourceTemplates: [] }
          )
      })
      const { nameOf, session } = yield* openWay(server)
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        const reply = yield* Effect.orDie(judge.complete(nameOf("odd"), { name: "a", value: "" }))
        assert.deepStrictEqual(reply["completion"], expected, name)
      }
    })
  )

  const withoutValues: ReadonlyArray<JsonObject> = [
    {},
    { completion: null },
    { completion: { values: 5 } },
    { completion: { values: [null] } }
  ]
  it.live.each(withoutValues)("fails a completion without values with the reason: %j", (result) =>
    Effect.gen(function* () {
      const server = yield* makeMemoryMcpServer({
        capabilities: { prompts: true, completions: true },
        answer: (method) =>
          Effect.succeed(
            method === "completion/complete" ? result : { prompts: [{ name: "odd" }], resourceTemplates: [] }
          )
      })
      const { nameOf, session } = yield* openWay(server)
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        const reply = yield* Effect.flip(judge.complete(nameOf("odd"), { name: "a", value: "" }))
        assert.include(reply.message, "no values", name)
      }
    })
  )
})
