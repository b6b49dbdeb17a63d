import { Readable } from "node:stream"
import { assert, describe, it } from "@effect/vitest"
import { type BodyEnd, makeBodyRepair, readBody } from "../../../../../src/adapters/mcp/client/http/HttpBody.ts"
import { maxMessageBytes } from "../../../../../src/adapters/mcp/client/mcpMessages.ts"

/** Reads a body of these chunks and returns how it ended. */
const endOf = async (chunks: ReadonlyArray<Uint8Array>, isEventStream: boolean): Promise<BodyEnd | undefined> => {
  let ended: BodyEnd | undefined
  const onEnd = (end: BodyEnd) => {
    ended = end
    return ""
  }
  const body = readBody(Readable.from(chunks, { objectMode: false }), {
    idleTimeout: 0,
    repair: makeBodyRepair(isEventStream, 1),
    onEnd
  })
  for await (const chunk of body) void chunk
  return ended
}

describe("size limit of a response body", () => {
  const most = Buffer.alloc(maxMessageBytes - 2, "x")
  const rows: ReadonlyArray<readonly [title: string, isLarge: boolean, chunks: ReadonlyArray<string | Uint8Array>]> = [
    ["allows an event of the limit", false, [most, "xx", "\n\n"]],
    ["allows an event of the limit whose last part ends it", false, [most, "xx\n\n"]],
    ["allows the limit again after an event", false, [most, "\n\n", most, "\n\n"]],
    ["rejects a larger event", true, [most, "xxx", "\n\n"]],
    ["rejects a larger event whose last part ends it", true, [most, "xxx\n\n"]],
    ["rejects a larger event whose last part also ends others", true, [most, "xxx\n\ny\n\nz"]],
    ["rejects a larger event whose end is in two parts", true, [most, "xxx\n", "\n"]],
    ["rejects a larger event with other line ends", true, [most, "xxx\r\n\r\n"]]
  ]
  it.each(rows)("%s", async (_title, isLarge, chunks) => {
    const end = await endOf(
      chunks.map((chunk) => (typeof chunk === "string" ? Buffer.from(chunk) : chunk)),
      true
    )
    assert.strictEqual(end?.limitExceeded, isLarge)
  })

  it("counts all bytes of a body that is no event stream", async () => {
    const parts = [most, Buffer.from("\n\n"), Buffer.from("x")]
    assert.strictEqual((await endOf(parts.slice(0, 2), false))?.limitExceeded, false)
    assert.strictEqual((await endOf(parts, false))?.limitExceeded, true)
  })
})
