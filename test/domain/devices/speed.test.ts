import { assert, describe, it } from "@effect/vitest"
import { cut, latin1, readPieces } from "./streams.ts"

const mebibyte = 1_048_576

const repeated = (text: string, before = ""): string =>
  (before + text.repeat(mebibyte / text.length + 1)).slice(0, mebibyte)

const text = "##START\x04task12340000"
const mcp = "##START\x06mcp000010000"

/** Streams that would be slow to read for whoever looks at anything twice. */
const streams = {
  "frames without an end": repeated(text),
  "JSON frames without an end": repeated(`${mcp}{"a":"`),
  "start markers": repeated("##START"),
  "start markers in a text": repeated("##START", text),
  "start markers in a string": repeated("##START", `${mcp}"`),
  "headers in a text that are almost whole": repeated("##START\x04task1234000x", text),
  "end markers in a string": repeated("##END", `${mcp}"`),
  "almost end markers in a text": repeated("##EN", text),
  hashes: repeated("#"),
  "hashes in a text": repeated("#", text),
  "hashes in a string": repeated("#", `${mcp}"`),
  "backslashes in a string": repeated("\\", `${mcp}"`),
  "a text": repeated("x", text),
  "a string": repeated("x", `${mcp}"`)
}

/** In milliseconds. These take a tenth of it and less; looking again at all there is with every byte takes minutes. */
const longest = 5_000

const timed = (pieces: ReadonlyArray<Uint8Array>, maxPayloadBytes = 2 * mebibyte) => {
  const start = performance.now()
  readPieces(pieces, { maxPayloadBytes })
  assert.isBelow(performance.now() - start, longest)
}

describe("time is proportional to the stream", () => {
  for (const [title, stream] of Object.entries(streams)) {
    it(`${title}, in one piece`, () => timed([latin1(stream)]))

    it(`${title}, in packets`, () => timed(cut(latin1(stream), () => 1460)))

    it(`${title}, byte by byte`, () => timed(cut(latin1(stream.slice(0, mebibyte / 4)), () => 1)))
  }

  it("one frame of a mebibyte, byte by byte", () =>
    timed(cut(latin1(`${streams["a string"]}"##END`), () => 1)))

  it("frames that are too large", () => timed([latin1(repeated(text))], 0))
})
