import { assert, describe, it } from "@effect/vitest"
import { Option, Result, Schema } from "effect"
import { encodeFrame, encodeJson } from "../../../../src/domain/devices/framing/encoder.ts"
import { defaultFrameLimits, type Frame, frameTypes } from "../../../../src/domain/devices/framing/frame.ts"
import { decodeUtf8 } from "../../../../src/domain/utf8.ts"
import { jsonTypes, Stream, types } from "../frames.ts"
import { characters, decode, framesOf, latin1, sent } from "../streams.ts"
import { copyJson } from "../../../copyJson.ts"
import { parseJson } from "../../../../src/domain/json.ts"

const frame = (given: Partial<Frame>): Frame => ({
  type: "text",
  task: "task1234",
  sequence: 0,
  payload: new Uint8Array(),
  ...given
})

const reasonOf = (given: Partial<Frame>, limits = {}): string | undefined =>
  Option.getOrUndefined(Result.getFailure(encodeFrame(frame(given), limits)))?.reason

const callInHex =
  "23235354415254066d63703030303031303030307b2274797065223a2263616c6c222c2264617461223a7b2263616c6c5f6964223a226331222c226d6574686f64223a226d222c22706172616d73223a7b7d7d7d2323454e44"

describe("encodeFrame", () => {
  it("encodes the bytes of the documents", () => {
    const payload = encodeJson({ type: "call", data: { call_id: "c1", method: "m", params: {} } })
    const encoded = sent({ type: "mcp", task: "mcp00001", sequence: 0, payload })
    assert.strictEqual(Buffer.from(encoded).toString("hex"), callInHex)
  })

  it("pads a short task with spaces, and the sequence with zeros", () => {
    assert.strictEqual(characters(sent(frame({ task: "abc", sequence: 7 }))), "##START\x04abc     0007##END")
  })

  it.each(types.map((type, index) => [type, index + 1] as const))("encodes %s as type %i", (type, byte) => {
    assert.strictEqual(sent(frame({ type }))[7], byte)
    assert.strictEqual(frameTypes[type], byte)
  })

  it("rejects a task that does not fit into a header", () => {
    const tasks = ["123456789", "ä", "\n", "\x7f", "##START", "a##END", "a ", "", "12345678", " ~", "##STAR"]
    const reasons = tasks.map((task) => reasonOf({ task }))
    assert.deepStrictEqual(reasons, [...Array(7).fill("invalid_task"), ...Array(4).fill(undefined)])
  })

  it("rejects a sequence that four digits cannot hold", () => {
    const reasons = [0, 9999, 10_000, -1, 0.5, Number.NaN].map((sequence) => reasonOf({ sequence }))
    assert.deepStrictEqual(reasons, [undefined, undefined, ...Array(4).fill("sequence_out_of_range")])
  })

  it.each(types)("rejects a marker in the payload of type %s", (type) => {
    for (const payload of ["##END", "a##ENDb", "###END", "##START", "####START"]) {
      assert.strictEqual(reasonOf({ type, payload: latin1(payload) }), "payload_contains_marker", payload)
    }
    for (const payload of ["##", "##EN", "##PING", "##STAR", "# #END"]) {
      assert.isUndefined(reasonOf({ type, payload: latin1(payload) }), payload)
    }
  })

  it("rejects a payload above the limit of its type", () => {
    const { maxPayloadBytes, maxAudioPayloadBytes } = defaultFrameLimits
    const reasonAt = (type: Frame["type"], length: number) => reasonOf({ type, payload: new Uint8Array(length) })
    assert.isUndefined(reasonAt("text", maxPayloadBytes))
    assert.strictEqual(reasonAt("text", maxPayloadBytes + 1), "payload_too_large")
    assert.isUndefined(reasonAt("audio", maxAudioPayloadBytes))
    assert.strictEqual(reasonAt("audio", maxAudioPayloadBytes + 1), "payload_too_large")
    assert.strictEqual(reasonOf({ payload: latin1("abc") }, { maxPayloadBytes: 2 }), "payload_too_large")
  })

  it("explains a rejection without the payload", () => {
    const { message } = Result.getOrThrow(
      Result.flip(encodeFrame(frame({ type: "auth", payload: latin1("secret##END") })))
    )
    assert.strictEqual(message, "Frame cannot be encoded: the payload contains ##START or ##END, which ends a frame")
  })
})

const Content = Schema.Struct({ any: Schema.Json, words: Stream })

describe("encodeJson", () => {
  it("escapes the first byte of a marker, and nothing else", () => {
    assert.strictEqual(
      characters(encodeJson({ "##END": ["##START", "###END", "#", "##EN", "\\##END"] })),
      String.raw`{"\u0023#END":["\u0023#START","#\u0023#END","#","##EN","\\\u0023#END"]}`
    )
  })

  it.prop("equals JSON.stringify on one line without markers", [Content], ([{ any, words }]) => {
    const value = [any, words.join("")]
    const json = encodeJson(value)
    assert.notMatch(characters(json), /##START|##END|\n/)
    assert.deepStrictEqual(Option.map(decodeUtf8(json), parseJson), Option.some(copyJson(value)))
  })

  it.prop("decodes equally with strict and naive framing", [Content], ([content]) => {
    for (const type of jsonTypes) {
      const given = frame({ type, payload: encodeJson(content) })
      const [strict, naive] = (["strict", "naive"] as const).map((framing) =>
        framesOf(decode(sent(given), { framing }))
      )
      assert.deepStrictEqual([strict, naive], [[given], [given]])
    }
  })

  it("encodes undefined as null", () => {
    assert.strictEqual(characters(encodeJson(undefined)), "null")
  })
})
