import { assert, describe, it } from "@effect/vitest"
import { parseTraceparent } from "../../src/domain/traceContext.ts"

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736"
const spanId = "00f067aa0ba902b7"

describe("traceparent", () => {
  it("parses with the sampled flag", () => {
    for (const [flags, sampled] of [
      ["01", true],
      ["02", false]
    ] as const)
      assert.deepStrictEqual(parseTraceparent(`00-${traceId}-${spanId}-${flags}`), { traceId, spanId, sampled })
  })

  it.each([
    ["another version", `01-${traceId}-${spanId}-01`],
    ["capital letters", `00-${traceId.toUpperCase()}-${spanId}-01`],
    ["a trace of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
    ["a span of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
    ["more behind it", `00-${traceId}-${spanId}-01-x`],
    ["a line break behind it", `00-${traceId}-${spanId}-01\n`],
    ["a UUID", "c0ffee00-1234-4bf9-a3ce-929d0e0e4736"],
    ["nothing", ""]
  ])("is not what has %s", (_, text) => assert.isUndefined(parseTraceparent(text)))
})
