import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeInputRounds } from "../../../../src/adapters/mcp/publish/inputRounds.ts"
import type { InputResponder } from "../../../../src/application/ports/McpSession.ts"
import { asObject, type JsonObject } from "../../../../src/domain/json.ts"

/** A call that asks two questions at once, works, and then asks a third. */
const start = ({ answer }: InputResponder) =>
  Effect.gen(function* () {
    const ask = (message: string) =>
      answer({ mode: "form", message, schema: { type: "object", properties: { name: { type: "string" } } } })
    const both = yield* Effect.all([ask("a"), ask("b")], { concurrency: "unbounded" })
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    return { answers: [...both, yield* ask("c")].map(({ action }) => action) }
  })

const messagesOf = (response: JsonObject) =>
  Object.values(asObject(response["inputRequests"])).map((request) => asObject(asObject(request)["params"])["message"])

describe("the rounds of a call that asks two questions at once", () => {
  const play = (answered: number) =>
    Effect.gen(function* () {
      const runRound = yield* makeInputRounds
      const next = (response: JsonObject, count: number) => {
        const ids = Object.keys(asObject(response["inputRequests"])).slice(0, count)
        return runRound(start, {
          modes: ["form"],
          requestState: response["requestState"] as string | undefined,
          responses: Object.fromEntries(ids.map((id) => [id, { action: "decline" }])),
          sendProgress: undefined
        })
      }
      const first = yield* next({}, 0)
      return { next, first, second: yield* next(first, answered) }
    })

  it.effect("asks the third question once both are answered", () =>
    Effect.gen(function* () {
      const { second } = yield* play(2)
      assert.deepStrictEqual(messagesOf(second), ["c"])
    })
  )

  it.effect("asks the one again that has no answer", () =>
    Effect.gen(function* () {
      const { second } = yield* play(1)
      assert.deepStrictEqual(messagesOf(second), ["b"])
    })
  )

  it.effect("gives the result once all are answered", () =>
    Effect.gen(function* () {
      const { next, second } = yield* play(2)
      assert.deepStrictEqual(yield* next(second, 1), { answers: ["decline", "decline", "decline"] })
    })
  )
})
