import { assert, describe, it } from "@effect/vitest"
import { formatTraceparent, parseTraceparent } from "../../src/domain/traceparent.ts"

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const spanId = "00f067aa0ba902b7"

describe("traceparent", () => {
  it("parses with the sampled flag", () => {
    assert.deepStrictEqual(parseTraceparent(`00-${traceId}-${spanId}-01`), { traceId, spanId, sampled: true })
    assert.deepStrictEqual(parseTraceparent(`00-${traceId}-${spanId}-02`), {
      traceId,
      spanId,
      sampled: false
    })
  })

  it("formats as it was parsed", () => {
    for (const sampled of [true, false]) {
      const text = formatTraceparent({ traceId, spanId, sampled }) ?? ""
      assert.deepStrictEqual(parseTraceparent(text), { traceId, spanId, sampled })
    }
  })

  for (const [what, text] of [
    ["another version", `01-${traceId}-${spanId}-01`],
    ["capital letters", `00-${traceId.toUpperCase()}-${spanId}-01`],
    ["a trace of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
    ["a span of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
    ["more behind it", `00-${traceId}-${spanId}-01-x`],
    ["a line break behind it", `00-${traceId}-${spanId}-01\n`],
    ["a UUID", "c0ffee00-1234-4bf9-a3ce-929d0e0e4736"],
    ["nothing", ""]
  ] as const) {
    it(`is not what has ${what}`, () => assert.isUndefined(parseTraceparent(text)))
  }

  it("rejects a span without valid ids", () => {
    assert.isUndefined(formatTraceparent({ traceId: "noop", spanId: "noop", sampled: false }))
  })
})
