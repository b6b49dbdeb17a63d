import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as MemoryMcp from "../../../../src/adapters/memory/MemoryMcp.ts"
import { Agent } from "../../../../src/application/agent/Agent.ts"
import { makeOfficeMcpSession } from "../../../../src/application/bridge/OfficeMcpSession.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import { agentUnderTest, computerUnderTest, resource, tool } from "../../../conformance/members.ts"
import { makePlace } from "../../../main/computers.ts"
import { judges } from "./judges.ts"
import { type OddItem, oddItems, wholeItems } from "./oddItems.ts"

const odd = {
  tools: oddItems(wholeItems.tools, "name", (index) => `odd-${index}`),
  resources: oddItems(wholeItems.resources, "uri", (index) => `ui://app/odd-${index}`),
  templates: oddItems(wholeItems.templates, "uriTemplate", (index) => `note://odd-${index}/{id}`),
  prompts: oddItems(wholeItems.prompts, "name", (index) => `odd-${index}`)
}

const toolOf = (definition: JsonObject): MemoryMcp.MemoryTool => ({
  definition: definition as MemoryMcp.MemoryTool["definition"],
  run: () => Effect.succeed({ content: [] })
})

/** An office whose Computer has an MCP server with all odd items, and another one. */
const makeOffice = Effect.gen(function* () {
  const place = yield* makePlace
  const alpha = yield* MemoryMcp.makeMemoryMcpServer({
    capabilities: { prompts: true },
    tools: odd.tools.map(({ item }) => toolOf(item)),
    resources: odd.resources.map(({ item }) => ({
      definition: item as MemoryMcp.MemoryResource["definition"],
      read: Effect.succeed([])
    })),
    answer: (method) =>
      Effect.succeed(
        method === "prompts/list"
          ? { prompts: odd.prompts.map(({ item }) => item) }
          : { resourceTemplates: odd.templates.map(({ item }) => item) }
      )
  })
  const beta = yield* MemoryMcp.makeMemoryMcpServer({
    capabilities: { prompts: true },
    tools: [tool("fine")],
    resources: [resource("ui://fine/form")],
    answer: (method) =>
      Effect.succeed(
        method === "prompts/list"
          ? { prompts: [{ name: "fine" }] }
          : { resourceTemplates: [{ uriTemplate: "fine://{id}", name: "fine" }] }
      )
  })
  yield* computerUnderTest(place, { name: "desk", servers: { alpha, beta } })
  const agent = yield* agentUnderTest(place)
  const session = yield* Effect.provideService(makeOfficeMcpSession({ office: "O1", tools: "all" }), Agent, agent)
  yield* agent.settled
  return { place, session }
})

const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] }

/** Results with one odd part, and the texts that a host should get. */
const oddResults: ReadonlyArray<readonly [name: string, result: JsonObject, texts: ReadonlyArray<string>]> = [
  ["nothing", { content: null, structuredContent: { n: 1 } }, []],
  ["null", { content: [{ type: "text", text: "a" }, null], structuredContent: { n: 1 } }, ["a"]],
  [
    "annotations",
    { content: [{ type: "text", text: "a", annotations: null, _meta: null }], structuredContent: { n: 1 } },
    ["a"]
  ],
  ["error", { content: [{ type: "text", text: "full" }], isError: true, structuredContent: { code: 5 } }, ["full"]],
  ["list", { content: [{ type: "text", text: "full" }], isError: true, structuredContent: [5] }, ["full"]],
  ["bare", { content: [], isError: true, structuredContent: { code: 5 } }, ['{"code":5}']],
  ["none", { content: null, isError: true, structuredContent: null }, []]
]

describe("an office with odd results of an MCP server", () => {
  it.live("passes the result on, for all official clients", () =>
    Effect.gen(function* () {
      const place = yield* makePlace
      const alpha = yield* MemoryMcp.makeMemoryMcpServer({
        tools: oddResults.map(([name, result]) => tool(name, () => Effect.succeed(result), { outputSchema }))
      })
      yield* computerUnderTest(place, { name: "desk", servers: { alpha } })
      const agent = yield* agentUnderTest(place)
      const session = yield* Effect.provideService(makeOfficeMcpSession({ office: "O1" }), Agent, agent)
      yield* agent.settled
      for (const [judgeName, open] of judges) {
        const judge = yield* open(session)
        yield* judge.tools
        for (const [name, , texts] of oddResults) {
          const { content } = yield* judge.call(`desk__${name}`)
          assert.deepStrictEqual<unknown>(
            (content as ReadonlyArray<JsonObject>).map(({ text }) => text),
            texts,
            `${name} for ${judgeName}`
          )
        }
      }
    })
  )
})

/** The number of items with another identity that matches. */
const countNamed = (items: ReadonlyArray<OddItem>, identity: string, pattern: RegExp): number =>
  new Set(items.map(({ item }) => item[identity]).filter((value) => typeof value === "string" && pattern.test(value)))
    .size

describe("an office with odd listings of an MCP server", () => {
  it.live("loses nothing but items without a name, for all official clients", () =>
    Effect.gen(function* () {
      const { place, session } = yield* makeOffice
      for (const [name, open] of judges) {
        const judge = yield* open(session)
        const isOfComputer = ({ name: listed }: JsonObject) => String(listed).startsWith("desk__")
        const counts = [
          (yield* judge.tools).filter(isOfComputer).length,
          (yield* judge.prompts).length,
          (yield* judge.templates).length,
          (yield* judge.resources).filter(({ uri }) => String(uri).startsWith("ui://")).length
        ]
        assert.deepStrictEqual(
          counts,
          [
            countNamed(odd.tools, "name", /./) + 1,
            countNamed(odd.prompts, "name", /./) + 1,
            countNamed(odd.templates, "uriTemplate", /^/) + 1,
            countNamed(odd.resources, "uri", /^ui:/) + 1
          ],
          name
        )
        // Compiles the schemas of all results.
        assert.deepStrictEqual((yield* judge.call("desk__fine"))["content"], [{ type: "text", text: "fine" }], name)
      }
      assert.isTrue(place.warnings().some((line) => line.includes("items omitted from listing")))
    })
  )
})
