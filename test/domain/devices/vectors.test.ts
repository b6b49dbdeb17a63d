import { assert, describe, it } from "@effect/vitest"
import { Option } from "effect"
import { hasPartialFrame, dropPartialFrame } from "../../../src/domain/devices/framing/decoder.ts"
import { decodeUtf8, encodeUtf8 } from "../../../src/domain/utf8.ts"
import { brief, cut, decode, framesOf, join, latin1, randomFrom, readPieces } from "./streams.ts"

const call = { type: "call", data: { call_id: "c1", method: "m", params: {} } }
const json = JSON.stringify(call)
const mcp = (payload: string, head = "mcp000010000") => `##START\x06${head}${payload}##END`
const m = mcp(json)
const F = "F(6,mcp00001,0000,64)"

interface Vector {
  readonly title: string
  /** Encodes a text as UTF-8. */
  readonly input: string | Uint8Array
  readonly events: ReadonlyArray<string>
  readonly maxPayloadBytes?: number
  /** Events after the partial frame times out. */
  readonly afterStall?: ReadonlyArray<string>
}

const result = JSON.stringify({
  type: "result",
  data: { call_id: "1", result: { success: true, data: "x##END y" } }
})
const unclosed = mcp('{"a":"x}')
const ofBytes = (count: number) => mcp(`{"a":"${"x".repeat(count - 8)}"}`)

const vectors: ReadonlyArray<Vector> = [
  { title: "1, 2: a frame", input: m, events: [F] },
  {
    title: "3: three frames",
    input: `${m}##START\x04task12340000现在几点了?##END##START\x03task12340001##END`,
    events: [F, "F(4,task1234,0000,16)", "F(3,task1234,0001,0)"]
  },
  { title: "4: brackets", input: mcp(json, "mcp00001[0000]"), events: ["F(6,mcp00001,[0000],64)"] },
  {
    title: "5: JSON on many lines",
    input: mcp(`${JSON.stringify(call, null, 4)}\n`),
    events: ["F(6,mcp00001,0000,113)"]
  },
  { title: "6: garbage before a frame", input: `hello\r\n${m}`, events: ["G(7)", F] },
  { title: "7: garbage and a marker", input: `xx${m}`, events: ["G(2)", F] },
  { title: "8: an incomplete marker", input: `##STxx${m}`, events: ["G(6)", F] },
  { title: "9: no payload", input: "##START\x03task12340001##END", events: ["F(3,task1234,0001,0)"] },
  {
    title: "10: a truncated header",
    input: `##START\x06abc##END${m}`,
    events: ["B(invalid_header)", "G(16)", F]
  },
  {
    title: "10b: a truncated header at the end",
    input: "##START\x06abc##END",
    events: [],
    afterStall: ["B(timeout)"]
  },
  {
    title: "11: an unknown type",
    input: `${m.replace("\x06", "\x7f")}${m}`,
    events: ["B(invalid_header)", "G(89)", F]
  },
  {
    title: "12: a non-numeric sequence",
    input: `${mcp(json, "mcp0000100a0")}${m}`,
    events: ["B(invalid_header)", "G(89)", F]
  },
  {
    title: "13: an end marker in a string",
    input: `${mcp(result)}${m}`,
    events: ["F(6,mcp00001,0000,84)", F]
  },
  {
    title: "14: both markers in a string",
    input: `${mcp('{"a":"##STARTx##END##START"}')}${m}`,
    events: ["F(6,mcp00001,0000,28)", F]
  },
  {
    title: "14b: an escaped quote before the marker",
    input: `${mcp(String.raw`{"a":"q\"##END"}`)}${m}`,
    events: ["F(6,mcp00001,0000,16)", F]
  },
  {
    title: "14b: a backslash and an escaped quote before the marker",
    input: `${mcp(String.raw`{"a":"q\\\"##END"}`)}${m}`,
    events: ["F(6,mcp00001,0000,18)", F]
  },
  {
    title: "15: an end marker in audio",
    input: join([latin1("##START\x02task12340003\0\x01\xfe\xff\x80##ENDabcdef##END"), latin1(m)]),
    events: ["F(2,task1234,0003,5)", "G(11)", F]
  },
  {
    title: "16: an end marker in text",
    input: `##START\x04task12340000a##ENDb##END${m}`,
    events: ["F(4,task1234,0000,1)", "G(6)", F]
  },
  { title: "17: malformed JSON", input: `${mcp("{bad")}${m}`, events: ["F(6,mcp00001,0000,4)", F] },
  {
    title: "17b: an unterminated string",
    input: `${unclosed}${m}`,
    events: ["B(unterminated)", "G(33)", F]
  },
  {
    title: "17c: a raw line break in a string",
    input: `${mcp('{"a":"x\ny"}')}${m}`,
    events: ["F(6,mcp00001,0000,11)", F]
  },
  {
    title: "17d: an unterminated string at the end",
    input: unclosed,
    events: [],
    afterStall: ["B(timeout)"]
  },
  {
    title: "18: a payload far above the limit",
    input: `${ofBytes(3002)}${m}`,
    maxPayloadBytes: 2000,
    events: ["B(too_large)", "G(3027)", F]
  },
  {
    title: "18b: a payload just within the limit",
    input: ofBytes(2000),
    maxPayloadBytes: 2000,
    events: ["F(6,mcp00001,0000,2000)"]
  },
  {
    title: "18c: a payload just above the limit",
    input: `${ofBytes(2001)}${m}`,
    maxPayloadBytes: 2000,
    events: ["B(too_large)", "G(2026)", F]
  },
  {
    title: "19: an endless string",
    input: `##START\x06mcp000010000{"a":"${"x".repeat(5000)}${m}`,
    maxPayloadBytes: 2000,
    events: ["B(too_large)", "G(5026)", F]
  },
  { title: "20: text", input: "##START\x04task12340000时间##END", events: ["F(4,task1234,0000,6)"] },
  { title: "21: a short task", input: mcp(json, "mcp1    0000"), events: ["F(6,mcp1,0000,64)"] },
  {
    title: "22: an empty task",
    input: join([latin1(mcp(json, "\xff\x01\x02\x03\x04\x05\x06\x070000")), latin1(m)]),
    events: ["B(invalid_header)", "G(89)", F]
  },
  {
    title: "23: ping and pong",
    input: "##START\x05000000000000##PING##END##START\x05000000000000##INFO:PONG##END",
    events: ["F(5,00000000,0000,6)", "F(5,00000000,0000,11)"]
  },
  {
    title: "24: truncated JSON",
    input: `##START\x06mcp000010000{"a":1${m}`,
    events: ["B(unterminated)", "G(26)", F]
  },
  {
    title: "24b: JSON truncated in a string",
    input: `##START\x06mcp000010000{"a":"1${m}`,
    events: ["B(unterminated)", "G(27)", F]
  },
  {
    title: "25: truncated text",
    input: `##START\x04task12340000hello${m}`,
    events: ["B(unterminated)", "G(25)", F]
  },
  { title: "26: a byte order mark", input: mcp(`\ufeff${json}`), events: ["F(6,mcp00001,0000,67)"] },
  { title: "27: single hashes", input: `#${m}#${m}`, events: ["G(1)", F, "G(1)", F] }
]

/** Random chunk boundaries per vector. */
const randomCuts = 200

describe("test vector of the device protocol", () => {
  for (const { afterStall = [], events, input, title, ...options } of vectors) {
    const stream = typeof input === "string" ? encodeUtf8(input) : input
    const check = (pieces: ReadonlyArray<Uint8Array>, how: string) => {
      const [state, found] = readPieces(pieces, options)
      assert.deepStrictEqual(found.map(brief), events, how)
      assert.deepStrictEqual(dropPartialFrame(state)[1].map(brief), afterStall, how)
    }

    it(`decodes ${title} in one chunk`, () => check([stream], "whole"))

    it(`decodes ${title} byte by byte`, () =>
      check(
        cut(stream, () => 1),
        "byte by byte"
      ))

    it(`decodes ${title} with any chunk boundaries`, () => {
      for (let seed = 1; seed <= randomCuts; seed++) {
        const random = randomFrom(seed)
        check(
          cut(stream, () => random(random(2) === 0 ? 8 : 60)),
          `seed ${seed}`
        )
      }
    })
  }

  it("case 7: decodes a marker across a chunk boundary", () => {
    const [, events] = readPieces([latin1("xx##ST"), latin1(m.slice(4))])
    assert.deepStrictEqual(events.map(brief), ["G(2)", F])
  })

  it("keeps only bytes that can become a frame (case 10b)", () => {
    const [state] = readPieces([latin1("noise##START\x06abc##END")])
    assert.strictEqual(state.buffered.length, 16)
    assert.isTrue(hasPartialFrame(state))
  })

  it("decodes a string across a boundary after its marker (case 13b)", () => {
    const border = mcp(result).indexOf("##END") + 5
    const stream = latin1(`${mcp(result)}${m}`)
    const [, events] = readPieces([stream.subarray(0, border), stream.subarray(border)])
    assert.deepStrictEqual(events.map(brief), ["F(6,mcp00001,0000,84)", F])
  })

  it("case 20: decodes a text whose character is split", () => {
    const [, events] = readPieces(cut(encodeUtf8("##START\x04task12340000时间##END"), () => 21))
    assert.deepStrictEqual(
      framesOf(events).map(({ payload }) => decodeUtf8(payload)),
      [Option.some("时间")]
    )
  })

  it("case 26: removes the byte order mark of JSON", () => {
    const [frame] = framesOf(decode(encodeUtf8(mcp(`\ufeff${json}`))))
    assert.deepStrictEqual(Option.map(decodeUtf8(frame?.payload ?? new Uint8Array()), JSON.parse), Option.some(call))
  })

  it("case 28: decodes 200 000 end markers in one string", () => {
    const stream = latin1(mcp(`"${"##END".repeat(200_000)}"`))
    assert.deepStrictEqual(decode(stream).map(brief), ["F(6,mcp00001,0000,1000002)"])
  })
})
