import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeMemoryMcpServer } from "../../../../src/adapters/memory/MemoryMcp.ts"
import type { McpCallOptions, McpPage, McpSession } from "../../../../src/application/ports/McpSession.ts"
import { publishableSession } from "../../../../src/application/shared/listings/publishableSession.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"

const inputSchema = { type: "object" }
const outputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] }
const typed = { name: "rows", inputSchema, outputSchema }

/** A publishable session whose parts are these. */
const published = (parts: Partial<McpSession>) =>
  Effect.gen(function* () {
    const session = yield* (yield* makeMemoryMcpServer({})).connect
    return publishableSession({ ...session, ...parts })
  })

describe("a session that is published", () => {
  it.effect("knows the schema of the results of each tool, as it was listed last", () =>
    Effect.gen(function* () {
      const pages: Array<McpPage> = [
        { items: [typed], nextCursor: "2" },
        { items: [{ ...typed, name: "other" }], nextCursor: undefined },
        { items: [{ name: "rows", inputSchema }], nextCursor: undefined }
      ]
      const cursors: Array<string | undefined> = []
      const { listTools, outputSchemaOf } = yield* published({
        listTools: (cursor) =>
          Effect.sync(() => {
            cursors.push(cursor)
            return pages.shift() ?? { items: [], nextCursor: undefined }
          })
      })
      assert.isUndefined(outputSchemaOf("rows"))
      assert.strictEqual((yield* listTools()).nextCursor, "2")
      yield* listTools("2")
      assert.deepStrictEqual([outputSchemaOf("rows"), outputSchemaOf("other")], [outputSchema, outputSchema])
      yield* listTools()
      assert.deepStrictEqual([outputSchemaOf("rows"), outputSchemaOf("other")], [undefined, outputSchema])
      assert.deepStrictEqual(cursors, [undefined, "2", undefined])
    })
  )

  it.effect("passes a call on with its arguments and options", () =>
    Effect.gen(function* () {
      const calls: Array<readonly [string, JsonObject, McpCallOptions | undefined]> = []
      const result = { content: [{ type: "text", text: "done" }], structuredContent: { n: 1 }, _meta: { mine: 1 } }
      const { callTool } = yield* published({
        callTool: (...call: readonly [string, JsonObject, McpCallOptions?]) =>
          Effect.sync(() => {
            calls.push([call[0], call[1], call[2]])
            return result
          })
      })
      const options = { onProgress: () => Effect.void }
      assert.deepStrictEqual(yield* callTool("rows", { a: 1 }, options), result)
      assert.deepStrictEqual(calls, [["rows", { a: 1 }, options]])
    })
  )

  it.effect("passes requests on with their parameters, and pages with their cursors", () =>
    Effect.gen(function* () {
      const requests: Array<readonly [string, JsonObject]> = []
      const replies: { readonly [method: string]: JsonObject } = {
        "prompts/list": { prompts: [{ name: "greet" }], nextCursor: 7 },
        "resources/templates/list": { resourceTemplates: [{ uriTemplate: "note://{id}", name: "note" }] },
        "prompts/get": { messages: [], vendor: 1 },
        "completion/complete": { completion: { values: ["Ada"] } }
      }
      const { request = () => Effect.die("no requests") } = yield* published({
        request: (method, params) =>
          Effect.sync(() => {
            requests.push([method, params])
            return replies[method] ?? {}
          })
      })
      const methods = ["prompts/list", "resources/templates/list", "prompts/get", "completion/complete"] as const
      const results = yield* Effect.forEach(methods, (method) => request(method, { cursor: method }))
      assert.deepStrictEqual(results, [
        { prompts: [{ name: "greet" }], nextCursor: "7" },
        replies["resources/templates/list"],
        replies["prompts/get"],
        replies["completion/complete"]
      ])
      assert.deepStrictEqual(
        requests,
        methods.map((method) => [method, { cursor: method }])
      )
    })
  )
})
