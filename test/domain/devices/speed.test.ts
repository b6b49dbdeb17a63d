import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { decodeDeviceMessage } from "../../../src/domain/devices/deviceMessages.ts"
import { encodeUtf8 } from "../../../src/domain/utf8.ts"
import { cut, latin1, readPieces } from "./streams.ts"
import { cpuTime } from "../../cpuTime.ts"

const mebibyte = 1_048_576

const repeated = (text: string, before = ""): string =>
  (before + text.repeat(mebibyte / text.length + 1)).slice(0, mebibyte)

const text = "##START\x04task12340000"
const mcp = "##START\x06mcp000010000"

/** Streams for which repeated scanning would take quadratic time. */
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

/** In milliseconds of CPU time, ten times the usual duration; quadratic scanning takes minutes. */
const maxMillis = 5_000

const timed = (pieces: ReadonlyArray<Uint8Array>, maxPayloadBytes = 2 * mebibyte) => {
  assert.isBelow(
    cpuTime(() => void readPieces(pieces, { maxPayloadBytes })),
    maxMillis
  )
}

describe("linear decoding time", () => {
  for (const [title, stream] of Object.entries(streams)) {
    it(`decodes ${title} in one chunk`, () => timed([latin1(stream)]))

    it(`decodes ${title} in packets`, () => timed(cut(latin1(stream), () => 1460)))

    it(`decodes ${title} byte by byte`, () => timed(cut(latin1(stream.slice(0, mebibyte / 4)), () => 1)))
  }

  it("decodes one frame of 1 MiB byte by byte", () => timed(cut(latin1(`${streams["a string"]}"##END`), () => 1)))

  it("drops frames above the size limit", () => timed([latin1(repeated(text))], 0))
})

describe("device message of 30 MB", () => {
  it.each(["x", String.raw`\n`])("decodes a text of: %s", (piece) => {
    const long = piece.repeat(30_000_000 / piece.length)
    const bytes = encodeUtf8(`{"type":"register","data":{"services":{"a":{"description":"${long}"},"a":{}}}}`)
    const message = Result.getOrThrow(decodeDeviceMessage(bytes))
    assert.deepStrictEqual(message._tag === "Register" && message.duplicates, ["a"])
  })
})
