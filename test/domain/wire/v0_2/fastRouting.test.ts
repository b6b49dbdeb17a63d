import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import { calls } from "../../../../src/domain/wire/v0_2/events.ts"

const { request, decodeRouting } = calls.toolCall
const good = { agent: "a", req_id: "r", computer: "pc", tool_name: "t", params: {}, timeout: 5 }

/** The routing of a tool call by the schema alone. */
const slow = (head: unknown) =>
  Result.map(request.decode(head), ({ agent, computer, reqId, timeout }) => ({
    agent,
    computer,
    reqId,
    timeoutSeconds: timeout
  }))

const odd = Schema.Union([
  Schema.Literals(["", "x", "y".repeat(256), "z".repeat(257), 0, 1, 3600, 3601, -1, 1.5, "5"]),
  Schema.Null,
  Schema.Boolean,
  Schema.Array(Schema.Json),
  Schema.Record(Schema.String, Schema.Json)
])
const Field = Schema.Literals(["agent", "req_id", "computer", "tool_name", "params", "timeout", "other"])

describe("routing of a tool call", () => {
  it.prop("equals the schema's result", [Field, odd, Field, odd], ([one, first, two, second]) => {
    const head = { ...good, [one]: first, [two]: second }
    assert.deepStrictEqual(decodeRouting(head), slow(head))
  })

  it.each(Object.keys(good))("needs %s", (name) => {
    const head: unknown = Object.fromEntries(Object.entries(good).filter(([key]) => key !== name))
    assert.isTrue(Result.isFailure(decodeRouting(head)))
    assert.deepStrictEqual(decodeRouting(head), slow(head))
  })

  it("rejects other values than objects like the schema", () => {
    for (const head of [null, undefined, 1, "x", [good], Object.create(good)]) {
      assert.deepStrictEqual(decodeRouting(head), slow(head))
    }
  })
})
