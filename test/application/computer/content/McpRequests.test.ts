import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import { type McpMethod, type McpSession, McpSessionError } from "../../../../src/application/ports/McpSession.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"
import { plainResourcesHash } from "../../../../src/domain/tools/listings/plainResources.ts"
import { resource, tool } from "../../../conformance/members.ts"
import { joined } from "../testComputer.ts"

const prompts = [{ name: "greet", arguments: [{ name: "who" }] }]
const templates = [{ uriTemplate: "note://{id}", name: "note" }]
const app = resource("ui://form", ["<p>"], { mimeType: "text/html" })
const icons = [{ src: "https://x/i.png" }]
const implementation = { name: "notes", version: "2", title: "Notes", icons }
const meta = { ui: { resourceUri: "ui://form" } }
/** What an MCP server adds to its error. */
const data = { prompts: ["greet"] }

/** How a request reaches the Computer: by its own event, or as a tool call through a Server that does not know the event. */
const carriers = ["as its event", "as a call"] as const
/** The MCP server when the request arrives. */
const lifecycles = ["eager", "lazy and idle", "lazy and running"] as const

/** A Computer with the MCP server `alpha`, and `beta` beside it. `ask` gives the result or the failure of a request. */
const serving = Effect.fnUntraced(function* (
  carrier: (typeof carriers)[number],
  lifecycle: (typeof lifecycles)[number]
) {
  const received: Array<readonly [method: McpMethod, params: JsonObject]> = []
  const answer = (method: McpMethod, params: JsonObject): Effect.Effect<JsonObject, McpSessionError> => {
    if (method === "prompts/list") return Effect.succeed({ prompts })
    if (method === "resources/templates/list") return Effect.succeed({ resourceTemplates: templates })
    received.push([method, params])
    if (params["name"] === "slow") return Effect.never
    if (params["name"] !== "odd") return Effect.succeed({ answered: method, _meta: { own: 1 } })
    return Effect.fail(new McpSessionError({ reason: "protocol", code: -32_099, message: "no such prompt", data }))
  }
  const memory = yield* makeMemoryMcpServer({
    answer,
    capabilities: { prompts: true, completions: true },
    resources: [app, resource("note://1", ["one", "two"])],
    tools: [tool("read", undefined, { title: "Read", _meta: meta }), tool("write", undefined, { icons })]
  })
  const describe = (session: McpSession): McpSession => ({
    ...session,
    info: { ...session.info, instructions: "Take notes", implementation }
  })
  const { computer, request } = yield* joined({
    servers: {
      alpha: { connect: Effect.map(memory.connect, describe) },
      beta: yield* makeMemoryMcpServer({ tools: [tool("other")] })
    },
    configure: {
      alpha: { lifecycle: lifecycle === "eager" ? "eager" : "lazy", tool_meta: { read: { alias: "peek" } } }
    }
  })
  if (lifecycle === "lazy and running") yield* computer.start("alpha")
  const ask = Effect.fnUntraced(function* (fields: JsonObject) {
    if (carrier === "as its event") {
      const { req_id, ...outcome } = asObject(yield* request("client:mcp", { params: {}, ...fields }))
      assert.strictEqual(req_id, "r")
      return outcome
    }
    const { timeout = 60, ...params } = { params: {}, ...fields } as JsonObject
    const call = { tool_name: "a2c:mcp", params, timeout }
    const { isError, structuredContent } = asObject(yield* request("client:tool_call", call))
    const outcome = asObject(structuredContent)
    assert.strictEqual(isError, outcome["failure"] !== undefined)
    return outcome
  })
  return { ask, computer, memory, received }
})

const failure = (code: number, message: string) => ({ failure: { code, message } })

/** Requests, and their outcomes. */
const rows: { readonly [title: string]: readonly [request: JsonObject, outcome: JsonObject] } = {
  "reads a resource with all its contents": [
    { server: "alpha", method: "resources/read", params: { uri: "note://1" } },
    {
      result: {
        contents: [
          { uri: "note://1", text: "one" },
          { uri: "note://1", text: "two" }
        ]
      }
    }
  ],
  "fails to read an unknown resource": [
    { server: "alpha", method: "resources/read", params: { uri: "note://2" } },
    failure(-32_002, "Resource note://2 not found")
  ],
  "rejects a read without a URI": [
    { server: "alpha", method: "resources/read", params: { uri: 1 } },
    failure(-32_602, "'uri' must be a string")
  ],
  "gets a prompt": [
    { server: "alpha", method: "prompts/get", params: { name: "greet", arguments: { who: "Ada" } } },
    { result: { answered: "prompts/get", _meta: { own: 1 } } }
  ],
  "completes an argument": [
    {
      server: "alpha",
      method: "completion/complete",
      params: { ref: { type: "ref/prompt" }, argument: { value: "A" } }
    },
    { result: { answered: "completion/complete", _meta: { own: 1 } } }
  ],
  "passes the error of the server on": [
    { server: "alpha", method: "prompts/get", params: { name: "odd" } },
    { failure: { code: -32_099, message: "no such prompt", data } }
  ],
  "knows no other method": [
    { server: "alpha", method: "prompts/list", params: {} },
    failure(-32_601, "Method not found: prompts/list")
  ],
  "knows no other server": [
    { server: "gamma", method: "prompts/get", params: {} },
    failure(-32_602, "No MCP server 'gamma' runs here")
  ],
  "rejects a task without its fields": [{ method: "tasks/cancel", params: {} }, failure(-32_602, "id: Missing key")]
}

const forwarded = ["prompts/get", "completion/complete"]

const ways = carriers.flatMap((carrier) => lifecycles.map((lifecycle) => [carrier, lifecycle] as const))

describe("request to an MCP server of a Computer", () => {
  for (const [carrier, lifecycle] of ways) {
    describe(`${carrier}, of a server that is ${lifecycle}`, () => {
      it.effect.each(Object.entries(rows))("%s", ([, [request, outcome]]) =>
        Effect.gen(function* () {
          const { ask, received } = yield* serving(carrier, lifecycle)
          assert.deepStrictEqual<unknown>(yield* ask(request), outcome)
          const isForwarded = request["server"] === "alpha" && forwarded.includes(String(request["method"]))
          assert.deepStrictEqual<unknown>(received, isForwarded ? [[request["method"], request["params"]]] : [])
        })
      )

      it.effect("describes the servers with all that they offer beside tools", () =>
        Effect.gen(function* () {
          const { ask } = yield* serving(carrier, lifecycle)
          assert.deepStrictEqual<unknown>(yield* ask({ method: "servers/list" }), {
            result: {
              servers: [
                {
                  id: "alpha",
                  implementation,
                  instructions: "Take notes",
                  tools: [
                    { name: "peek", originalName: "read", details: { title: "Read", _meta: meta } },
                    { name: "write", details: { icons } }
                  ],
                  prompts,
                  templates,
                  apps: [app.definition],
                  resourcesHash: plainResourcesHash([app.definition, resource("note://1").definition]),
                  completions: true
                },
                {
                  id: "beta",
                  implementation: { name: "memory", version: "1.0.0" },
                  tools: [{ name: "other", details: {} }],
                  prompts: [],
                  templates: [],
                  apps: [],
                  completions: false
                }
              ]
            }
          })
        })
      )

      it.effect("fails at its timeout, and not before", () =>
        Effect.gen(function* () {
          const { ask } = yield* serving(carrier, lifecycle)
          const slow = { server: "alpha", method: "prompts/get", params: { name: "slow" } }
          const asking = yield* Effect.forkScoped(ask({ ...slow, timeout: 7 }), { startImmediately: true })
          yield* TestClock.adjust("6999 millis")
          assert.isUndefined(asking.pollUnsafe())
          yield* TestClock.adjust("1 millis")
          assert.deepStrictEqual<unknown>(yield* Fiber.join(asking), failure(-32_603, "no response within 7 seconds"))
        })
      )
    })
  }

  it.effect("fails after 30 seconds where it states no timeout", () =>
    Effect.gen(function* () {
      const { ask } = yield* serving("as its event", "eager")
      const slow = { server: "alpha", method: "prompts/get", params: { name: "slow" } }
      const asking = yield* Effect.forkScoped(ask(slow), { startImmediately: true })
      yield* TestClock.adjust("29999 millis")
      assert.isUndefined(asking.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual<unknown>(yield* Fiber.join(asking), failure(-32_603, "no response within 30 seconds"))
    })
  )

  it.effect("states when a server that restarts can answer again", () =>
    Effect.gen(function* () {
      const { ask, memory } = yield* serving("as its event", "eager")
      yield* memory.crash("exit code 1")
      yield* TestClock.adjust(0)
      const { failure: failed } = yield* ask({ server: "alpha", method: "prompts/get", params: { name: "greet" } })
      const { data, ...error } = asObject(failed)
      assert.deepStrictEqual<unknown>(error, { code: -32_603, message: "MCP server 'alpha' is restarting, try again" })
      assert.property(data, "retry_after")
    })
  )
})
