import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeInputHandler } from "../../../../src/adapters/mcp/client/inputHandler.ts"
import type { InputResponder } from "../../../../src/application/ports/McpSession.ts"

const answeringAs = (by: string): InputResponder => ({
  modes: ["form"],
  answer: () => Effect.succeed({ action: "accept", content: { by } })
})

describe("a question of an MCP server that names no call", () => {
  it.effect("is answered by the call that started last", () =>
    Effect.gen(function* () {
      const { during, handle } = yield* makeInputHandler
      for (const by of ["first", "last"]) {
        yield* Effect.forkChild(during(answeringAs(by), Effect.never), { startImmediately: true })
      }
      const params = { message: "who?", requestedSchema: { type: "object", properties: {} } }
      const { signal } = new AbortController()
      const answer = yield* Effect.promise(() => handle({ method: "elicitation/create", params }, { signal }))
      assert.deepStrictEqual(answer, { action: "accept", content: { by: "last" } })
    })
  )
})
