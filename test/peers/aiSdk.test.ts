import { createMCPClient, ElicitationRequestSchema } from "@ai-sdk/mcp"
import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { live, office, published } from "../main/offices.ts"

describe("a published office for the AI SDK", () => {
  live(
    "passes prompts, and the question of a task, to the AI SDK",
    Effect.gen(function* () {
      const there = yield* office
      yield* there.desk.prints("MCP server ready", "stderr", 2)
      const { url } = yield* published(there)
      const capabilities = { elicitation: {} }
      const client = yield* Effect.acquireRelease(
        Effect.promise(() => createMCPClient({ transport: { type: "http", url }, capabilities })),
        (opened) => Effect.promise(() => opened.close())
      )
      const asked: Array<string> = []
      client.onElicitationRequest(ElicitationRequestSchema, ({ params }) => {
        asked.push(params.message)
        return { action: "accept", content: { interpretation: "historical" } }
      })
      const { prompts } = yield* Effect.promise(() => client.listPrompts())
      assert.include(
        prompts.map(({ name }) => name),
        "desk__args-prompt"
      )
      const call = { name: "desk__simulate-research-query", arguments: { topic: "tea", ambiguous: true } }
      const result = yield* Effect.promise(() => client.callTool(call))
      assert.include(JSON.stringify(result), "Research Report: tea (historical)")
      assert.strictEqual(asked.length, 1)
    })
  )
})
