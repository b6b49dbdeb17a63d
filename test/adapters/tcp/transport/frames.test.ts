import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { RawBody } from "../../../../src/adapters/bytes/RawBody.ts"
import type { ReceivedMessage } from "../../../../src/adapters/bytes/MessageLink.ts"
import {
  decodeControl,
  decodeFrame,
  encodeControl,
  encodeEvent,
  encodeReply,
  type FrameMessage,
  FrameReader,
  frameKinds
} from "../../../../src/adapters/tcp/transport/frames.ts"

const noQueue = { onDequeued: () => undefined }

const bytesOf = ({ chunks }: FrameMessage): Buffer => Buffer.concat(chunks)

/** What a reader makes of chunks. */
const read = (chunks: ReadonlyArray<Buffer>, maxBytes = 1_000_000) => {
  const frames: Array<Buffer> = []
  const reader = new FrameReader(maxBytes, (frame) => void frames.push(frame))
  const isValid = chunks.every((chunk) => reader.read(chunk))
  return { frames, isValid }
}

const cut = (bytes: Buffer, size: number): ReadonlyArray<Buffer> =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size))

/** A message with the texts of its bodies. */
const describeMessage = (message: ReceivedMessage | undefined) => {
  if (message === undefined) return undefined
  return message.type === "event"
    ? ["event", message.id, message.event, message.body.value()]
    : ["ack", message.id, message.values.map((value) => value.value())]
}

const long = "ü".repeat(20_000)

const messages: ReadonlyArray<readonly [FrameMessage, ReceivedMessage]> = [
  [
    encodeEvent(0, "notify:x", jsonBody({ a: 1 }), noQueue),
    { type: "event", id: undefined, event: "notify:x", body: jsonBody({ a: 1 }) }
  ],
  [
    encodeEvent(2 ** 31 - 1, "ü", jsonBody(long), noQueue),
    { type: "event", id: 2 ** 31 - 1, event: "ü", body: jsonBody(long) }
  ],
  [encodeEvent(1, "", jsonBody(null), noQueue), { type: "event", id: 1, event: "", body: jsonBody(null) }],
  [encodeReply(7, [], noQueue), { type: "ack", id: 7, values: [] }],
  [encodeReply(8, [jsonBody(long)], noQueue), { type: "ack", id: 8, values: [jsonBody(long)] }],
  [
    encodeReply(9, [jsonBody(1), jsonBody([long]), jsonBody("x")], noQueue),
    { type: "ack", id: 9, values: [jsonBody(1), jsonBody([long]), jsonBody("x")] }
  ]
]

describe("a frame", () => {
  it("is put together from chunks of any size", () => {
    const stream = Buffer.concat(messages.map(([message]) => bytesOf(message)))
    const expected = messages.map(([, message]) => describeMessage(message))
    for (const size of [1, 2, 3, 5, 7, 64, 4096, 65_536, stream.length]) {
      const { frames, isValid } = read(cut(stream, size))
      assert.isTrue(isValid)
      assert.deepStrictEqual(
        frames.map((frame) => describeMessage(decodeFrame(frame))),
        expected,
        `chunks of ${size} bytes`
      )
    }
  })

  it("has the size that its message states", () => {
    for (const [message] of messages) assert.strictEqual(bytesOf(message).length, message.size)
  })

  it("forwards a body that has arrived without a copy", () => {
    const tail = Buffer.from(`${JSON.stringify("x".repeat(20_000))}]`)
    assert.include(encodeEvent(1, "e", RawBody.unparsed(tail), noQueue).chunks, tail)
    assert.include(encodeReply(1, [RawBody.unparsed(tail)], noQueue).chunks, tail)
  })

  it("carries a control as JSON", () => {
    const { frames } = read([encodeControl(frameKinds.accept, { id: "ü" }), encodeControl(frameKinds.check)])
    assert.deepStrictEqual(
      frames.map((frame) => [frame[0], frame[0] === frameKinds.check ? undefined : decodeControl(frame)]),
      [
        [frameKinds.accept, { id: "ü" }],
        [frameKinds.check, undefined]
      ]
    )
  })

  it("is invalid when empty, or longer than the limit", () => {
    const atLimit = Buffer.concat([Buffer.from([0, 0, 0, 10]), Buffer.alloc(10)])
    assert.deepStrictEqual(
      [atLimit, Buffer.from([0, 0, 0, 11]), Buffer.alloc(4)].map((chunk) => read([chunk], 10).isValid),
      [true, false, false]
    )
  })

  it.prop("decodes to a message or to nothing for all bytes", [Schema.Array(Schema.Int)], ([bytes]) => {
    for (const kind of [frameKinds.event, frameKinds.reply]) {
      const message = decodeFrame(Buffer.from([kind, ...bytes]))
      assert.include(["event", "ack", undefined], message?.type)
    }
  })

  it("decodes to nothing with a length beyond its end", () => {
    const invalid = [
      [frameKinds.event],
      [frameKinds.event, 0, 0, 0, 1],
      [frameKinds.event, 0, 0, 0, 1, 0, 0, 0, 1, 65],
      [frameKinds.event, 0, 0, 0, 1, 0, 0, 0, 1, 65, 93],
      [frameKinds.event, 0, 0, 0, 1, 255, 255, 255, 255, 65, 49, 93],
      [frameKinds.reply, 0, 0, 0, 1, 0, 0, 0],
      [frameKinds.reply, 0, 0, 0, 1, 0, 0, 0, 1, 93],
      [frameKinds.reply, 0, 0, 0, 1, 0, 0, 0, 3, 49, 93]
    ]
    for (const bytes of invalid) assert.isUndefined(decodeFrame(Buffer.from(bytes)), bytes.join())
  })
})
