import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { calls } from "../../../../src/domain/wire/calls.ts"

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

const texts = ["", "x", "y".repeat(256), "z".repeat(257), "5"]
const numbers = [0, 1, 3600, 3601, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]
const values: ReadonlyArray<unknown> = [...texts, ...numbers, null, undefined, true, [], ["x"], {}, { a: 1 }]

describe("routing of a tool call", () => {
  it.each([...Object.keys(good), "other"])("equals the schema's result for any value of %s", (field) => {
    for (const value of values) {
      const head = { ...good, [field]: value }
      assert.deepStrictEqual(decodeRouting(head), slow(head), JSON.stringify(value))
    }
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
