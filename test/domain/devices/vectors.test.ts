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

type Vector = readonly [
  title: string,
  /** Encodes a text as UTF-8. */
  input: string | Uint8Array,
  events: ReadonlyArray<string>,
  /** Events after the partial frame times out. */
  afterStall?: ReadonlyArray<string>
]

const result = JSON.stringify({
  type: "result",
  data: { call_id: "1", result: { success: true, data: "x##END y" } }
})
const maxPayloadBytes = 2000
const unclosed = mcp('{"a":"x}')
const ofBytes = (count: number) => mcp(`{"a":"${"x".repeat(count - 8)}"}`)

const vectors: ReadonlyArray<Vector> = [
  ["1, 2: a frame", m, [F]],
  [
    "3: three frames",
    `${m}##START\x04task12340000现在几点了?##END##START\x03task12340001##END`,
    [F, "F(4,task1234,0000,16)", "F(3,task1234,0001,0)"]
  ],
  ["4: brackets", mcp(json, "mcp00001[0000]"), ["F(6,mcp00001,[0000],64)"]],
  ["5: JSON on many lines", mcp(`${JSON.stringify(call, null, 4)}\n`), ["F(6,mcp00001,0000,113)"]],
  ["6: garbage before a frame", `hello\r\n${m}`, ["G(7)", F]],
  ["7: garbage and a marker", `xx${m}`, ["G(2)", F]],
  ["8: an incomplete marker", `##STxx${m}`, ["G(6)", F]],
  ["9: no payload", "##START\x03task12340001##END", ["F(3,task1234,0001,0)"]],
  ["10: a truncated header", `##START\x06abc##END${m}`, ["B(invalid_header)", "G(16)", F]],
  ["10b: a truncated header at the end", "##START\x06abc##END", [], ["B(timeout)"]],
  ["11: an unknown type", `${m.replace("\x06", "\x7f")}${m}`, ["B(invalid_header)", "G(89)", F]],
  ["12: a non-numeric sequence", `${mcp(json, "mcp0000100a0")}${m}`, ["B(invalid_header)", "G(89)", F]],
  ["13: an end marker in a string", `${mcp(result)}${m}`, ["F(6,mcp00001,0000,84)", F]],
  ["14: both markers in a string", `${mcp('{"a":"##STARTx##END##START"}')}${m}`, ["F(6,mcp00001,0000,28)", F]],
  ["14b: an escaped quote before the marker", `${mcp(String.raw`{"a":"q\"##END"}`)}${m}`, ["F(6,mcp00001,0000,16)", F]],
  ["14b: a backslash and an escaped quote", `${mcp(String.raw`{"a":"q\\\"##END"}`)}${m}`, ["F(6,mcp00001,0000,18)", F]],
  [
    "15: an end marker in audio",
    join([latin1("##START\x02task12340003\0\x01\xfe\xff\x80##ENDabcdef##END"), latin1(m)]),
    ["F(2,task1234,0003,5)", "G(11)", F]
  ],
  ["16: an end marker in text", `##START\x04task12340000a##ENDb##END${m}`, ["F(4,task1234,0000,1)", "G(6)", F]],
  ["17: malformed JSON", `${mcp("{bad")}${m}`, ["F(6,mcp00001,0000,4)", F]],
  ["17b: an unterminated string", `${unclosed}${m}`, ["B(unterminated)", "G(33)", F]],
  ["17c: a raw line break in a string", `${mcp('{"a":"x\ny"}')}${m}`, ["F(6,mcp00001,0000,11)", F]],
  ["17d: an unterminated string at the end", unclosed, [], ["B(timeout)"]],
  ["18: a payload far above the limit", `${ofBytes(3002)}${m}`, ["B(too_large)", "G(3027)", F]],
  ["18b: a payload just within the limit", ofBytes(maxPayloadBytes), ["F(6,mcp00001,0000,2000)"]],
  ["18c: a payload just above the limit", `${ofBytes(2001)}${m}`, ["B(too_large)", "G(2026)", F]],
  ["19: an endless string", `##START\x06mcp000010000{"a":"${"x".repeat(5000)}${m}`, ["B(too_large)", "G(5026)", F]],
  ["20: text", "##START\x04task12340000时间##END", ["F(4,task1234,0000,6)"]],
  ["21: a short task", mcp(json, "mcp1    0000"), ["F(6,mcp1,0000,64)"]],
  [
    "22: an empty task",
    join([latin1(mcp(json, "\xff\x01\x02\x03\x04\x05\x06\x070000")), latin1(m)]),
    ["B(invalid_header)", "G(89)", F]
  ],
  [
    "23: ping and pong",
    "##START\x05000000000000##PING##END##START\x05000000000000##INFO:PONG##END",
    ["F(5,00000000,0000,6)", "F(5,00000000,0000,11)"]
  ],
  ["24: truncated JSON", `##START\x06mcp000010000{"a":1${m}`, ["B(unterminated)", "G(26)", F]],
  ["24b: JSON truncated in a string", `##START\x06mcp000010000{"a":"1${m}`, ["B(unterminated)", "G(27)", F]],
  ["25: truncated text", `##START\x04task12340000hello${m}`, ["B(unterminated)", "G(25)", F]],
  ["26: a byte order mark", mcp(`\ufeff${json}`), ["F(6,mcp00001,0000,67)"]],
  ["27: single hashes", `#${m}#${m}`, ["G(1)", F, "G(1)", F]]
]

/** Random chunk boundaries per vector. */
const randomCuts = 200

describe("test vector of the device protocol", () => {
  for (const [title, input, events, afterStall = []] of vectors) {
    const stream = typeof input === "string" ? encodeUtf8(input) : input
    const check = (chunkLength: () => number, how: string) => {
      const [state, found] = readPieces(cut(stream, chunkLength), { maxPayloadBytes })
      const left = dropPartialFrame(state)[1]
      assert.deepStrictEqual([found.map(brief), left.map(brief)], [events, afterStall], how)
    }

    it(`decodes ${title} in one chunk`, () => check(() => stream.length, "whole"))

    it(`decodes ${title} byte by byte`, () => check(() => 1, "byte by byte"))

    it(`decodes ${title} with any chunk boundaries`, () => {
      for (let seed = 1; seed <= randomCuts; seed++) {
        const random = randomFrom(seed)
        check(() => random(random(2) === 0 ? 8 : 60), `seed ${seed}`)
      }
    })
  }

  it("keeps only bytes that can become a frame (case 10b)", () => {
    const [state] = readPieces([latin1("noise##START\x06abc##END")])
    assert.strictEqual(state.buffered.length, 16)
    assert.isTrue(hasPartialFrame(state))
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
