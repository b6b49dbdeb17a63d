import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  type DecoderState,
  initialDecoderState,
  hasPartialFrame,
  maxBufferedBytes,
  dropPartialFrame,
  decodeChunk
} from "../../../../src/domain/devices/framing/decoder.ts"
import { encodeJson } from "../../../../src/domain/devices/framing/encoder.ts"
import { capacity, cycle, Draft, Lengths, sendable, Stream } from "../frames.ts"
import { readAtOnce } from "../reference.ts"
import { brief, cut, decode, framesOf, full, join, latin1, readPieces, sent } from "../streams.ts"

const text = "##START\x04task12340000"
const mcp = "##START\x06mcp000010000"
const end = "##START\x03task12340001##END"
const E = "F(3,task1234,0001,0)"

const bytesOf = (words: ReadonlyArray<string>): Uint8Array => latin1(words.join(""))

const briefly = (stream: string, options?: Parameters<typeof decode>[1]) => decode(latin1(stream), options).map(brief)

const after = (...pieces: ReadonlyArray<string>): DecoderState => readPieces(pieces.map(latin1))[0]

describe("frame in a stream", () => {
  it.prop(
    "survives encoding and decoding with any chunk boundaries",
    [Schema.Array(Draft), Lengths],
    ([drafts, lengths]) => {
      const frames = sendable(drafts)
      const [state, events] = readPieces(cut(join(frames.map(sent)), cycle(lengths)))
      const expected = frames.map((frame) => ({ _tag: "Frame", frame, bracketed: false }))
      assert.deepStrictEqual<unknown>([events, state.buffered.length], [expected, 0])
    }
  )

  it.prop("decodes equally with naive framing", [Schema.Array(Draft)], ([drafts]) => {
    const stream = join(sendable(drafts).map(sent))
    assert.deepStrictEqual(decode(stream, { framing: "naive" }), decode(stream))
  })

  it.prop("decodes after any garbage", [Stream, Schema.Array(Draft)], ([noise, drafts]) => {
    const frames = sendable(drafts).map(sent)
    const alone = framesOf(decode(join(frames)))
    const found = framesOf(decode(join([bytesOf(noise), ...frames])))
    assert.deepStrictEqual(found.slice(found.length - alone.length), alone)
  })

  it.prop(
    "follows the rules of the reference decoder",
    [Stream, Schema.Literals(["strict", "naive"])],
    ([stream, framing]) => {
      const limits = { maxPayloadBytes: 30, maxAudioPayloadBytes: 10 }
      const [state, events] = readPieces([bytesOf(stream)], { ...limits, framing })
      assert.deepStrictEqual(
        { events: events.map(full), incomplete: hasPartialFrame(state) },
        readAtOnce(stream.join(""), limits, framing)
      )
    }
  )
})

describe("truncated frame", () => {
  it.each([
    ["truncated audio", `##START\x02task12340000abc${end}`, ["B(unterminated)", "G(23)", E]],
    ["a start marker without a header as content of a text", `${text}a ##START b##END`, ["F(4,task1234,0000,11)"]],
    ["the end of a text right after a start marker", `${text}x##START\x06ab##END`, ["F(4,task1234,0000,11)"]],
    ["the end of a text after a part of a header", `${text}x##START\x06abc##END`, ["F(4,task1234,0000,12)"]],
    ["malformed JSON up to the first end marker", `${mcp}{"a":"\n##END`, ["F(6,mcp00001,0000,7)"]],
    ["malformed JSON with a part of a header", `${mcp}{"a":"\n##START\x06##END`, ["F(6,mcp00001,0000,15)"]],
    ["malformed JSON that a complete header truncates", `${mcp}{"a":"\n${end}`, ["B(unterminated)", "G(27)", E]],
    ["JSON that is truncated after a backslash", `${mcp}{"a":"\\${end}`, ["B(unterminated)", "G(27)", E]],
    ["one escaped byte after a backslash, also a hash", `${mcp}"\\#"##END`, ["F(6,mcp00001,0000,4)"]]
  ])("reads %s", (_, stream, events) => {
    assert.deepStrictEqual(briefly(stream), events)
  })

  it("ignores all of this with naive framing", () => {
    const naive = { framing: "naive" } as const
    assert.deepStrictEqual(briefly(`${text}hello${end}`, naive), ["F(4,task1234,0000,25)"])
    assert.deepStrictEqual(briefly(`${mcp}{"a":"##END"}##END${end}`, naive), ["F(6,mcp00001,0000,6)", "G(7)", E])
  })
})

describe("payload limit", () => {
  it("uses a separate limit for audio", () => {
    const options = { maxPayloadBytes: 100, maxAudioPayloadBytes: 3 }
    const audio = (payload: string) => `##START\x02task12340000${payload}##END${end}`
    assert.deepStrictEqual(briefly(audio("abc"), options), ["F(2,task1234,0000,3)", E])
    assert.deepStrictEqual(briefly(audio("abcd"), options), ["B(too_large)", "G(29)", E])
  })

  it("decodes a frame right after one above the limit", () => {
    assert.deepStrictEqual(briefly(`${text}abcd${end}`, { maxPayloadBytes: 3 }), ["B(too_large)", "G(24)", E])
  })

  it("accepts a payload of exactly 1 MiB", () => {
    const mebibyte = (more: number) => `${text}${"x".repeat(1_048_576 + more)}##END`
    assert.deepStrictEqual(briefly(mebibyte(0)), ["F(4,task1234,0000,1048576)"])
    assert.deepStrictEqual(briefly(mebibyte(1)), ["B(too_large)"])
  })
})

describe("frame without an end", () => {
  it("starts with its complete marker", () => {
    const streams = ["", "noise", "noise##STAR", "##START", "##START\x04ta", text, `${text}abc##EN`, `${text}##END`]
    const partial = streams.filter((stream) => hasPartialFrame(after(stream)))
    assert.deepStrictEqual(partial, streams.slice(3, 7))
  })

  it("becomes garbage when the decoder drops it", () => {
    const [state, events] = dropPartialFrame(after(`${mcp}{"a":"x}##END##STAR`))
    assert.deepStrictEqual(events, [{ _tag: "InvalidFrame", reason: "timeout" }])
    assert.isFalse(hasPartialFrame(state))
    assert.deepStrictEqual(decodeChunk(state, latin1(`T\x03task12340001##END`))[1].map(brief), ["G(33)", E])
  })

  it("keeps another frame that starts inside it", () => {
    const [state, events] = dropPartialFrame(after("##START\x04##START\x20"))
    assert.deepStrictEqual(events.map(brief), ["B(timeout)", "B(invalid_header)"])
    assert.deepStrictEqual(decodeChunk(state, latin1(end))[1].map(brief), ["G(16)", E])
  })

  it("needs a start marker to be dropped", () => {
    const state = after("noise##STAR")
    assert.deepStrictEqual(dropPartialFrame(state), [state, []])
  })
})

describe("chunk of a stream", () => {
  it.prop("produces the same events with any boundaries, within the memory bound", [Stream, Lengths], (given) => {
    const [words, lengths] = given
    const options = { maxPayloadBytes: 20, maxAudioPayloadBytes: 5 }
    const stream = bytesOf(words)
    const [whole, expected] = readPieces([stream], options)
    let state = initialDecoderState(options)
    const found = cut(stream, cycle(lengths)).flatMap((piece) => {
      const [next, events] = decodeChunk(state, piece)
      state = next
      assert.isAtMost(state.buffered.length, maxBufferedBytes(options))
      return events
    })
    assert.deepStrictEqual(found, expected)
    assert.deepStrictEqual([state.buffered.length, state.pendingGarbage], [whole.buffered.length, whole.pendingGarbage])
  })

  it.prop("leaves the previous state unchanged", [Stream, Stream, Stream], (given) => {
    const [before, one, other] = given
    const [state] = readPieces(cut(bytesOf([text, ...before]), () => 3))
    const nexts = [one, other, one].map((words) => decodeChunk(state, bytesOf(words)))
    const alone = [one, other, one].map((words) =>
      decodeChunk(readPieces([bytesOf([text, ...before])])[0], bytesOf(words))
    )
    const endOf = ([next, events]: (typeof nexts)[number]) => [events, decodeChunk(next, latin1("##END"))[1]]
    assert.deepStrictEqual(nexts.map(endOf), alone.map(endOf))
  })

  it("shares memory with the frames inside it, whose payloads are plain arrays", () => {
    for (const stream of [latin1(`${text}abc##END`), Buffer.from(`${text}abc##END`)]) {
      const payload = framesOf(decode(stream))[0]?.payload
      assert.deepStrictEqual([payload?.buffer === stream.buffer, payload?.constructor === Uint8Array], [true, true])
    }
  })

  it("keeps a copy of its unfinished part", () => {
    const piece = Buffer.from(`${text}ab`)
    const [state] = decodeChunk(initialDecoderState(), piece)
    piece.fill(0)
    const [frame] = framesOf(decodeChunk(state, latin1("c##END"))[1])
    assert.deepStrictEqual(frame?.payload, latin1("abc"))
  })
})

describe("decoder memory", () => {
  const big = sent({ type: "mcp", task: "", sequence: 0, payload: encodeJson("x".repeat(1_000_000)) })

  it("grows no further than the largest frame", () => {
    let state = initialDecoderState()
    for (const piece of cut(big.subarray(0, -1), () => 997)) {
      state = decodeChunk(state, piece)[0]
      assert.isAtMost(capacity(state.buffered), maxBufferedBytes(state.settings))
    }
    assert.isAtLeast(state.buffered.length, 1_000_000)
  })

  it("releases a large frame after decoding", () => {
    const [state, events] = readPieces([...cut(big, () => 1000), latin1("##START\x04ab")])
    assert.strictEqual(events.length, 1)
    assert.isAtMost(capacity(state.buffered), 100)
  })

  it("releases a large chunk when only a small rest remains", () => {
    const [state] = readPieces([latin1(`${"noise".repeat(100_000)}##START\x04ab`)])
    assert.strictEqual(capacity(state.buffered), 10)
  })
})
