import { assert, describe, it } from "@effect/vitest"
import {
  decodeHeader,
  encodeFields,
  frameKinds,
  isValidNodeName,
  maxContentBytes,
  maxStringBytes,
  MessageReader,
  MessageWriter,
  toBytes
} from "../../../../src/adapters/redis/nodelink/messageFormat.ts"

/** A message with one frame for each kind. */
const messageOf = (node: string, kinds: ReadonlyArray<number>): Buffer => {
  const writer = new MessageWriter(Buffer.alloc(1024, 0xff)).beginMessage(node)
  for (const kind of kinds) writer.beginFrame(kind).u32(kind).endFrame()
  return writer.finishMessage(1, 2, 3)
}

describe("header of a message", () => {
  it("has the node, both generations and the acknowledged bytes", () => {
    assert.deepStrictEqual(decodeHeader(new MessageReader(messageOf("é", []))), {
      node: "é",
      senderGeneration: 1,
      receiverGeneration: 2,
      acknowledgedBytes: 3
    })
  })

  it("begins with the two bytes of this version of the format", () => {
    const message = messageOf("n", [])
    assert.strictEqual(message.readUInt16BE(), 0xa2c1)
    message[1] = 0xc2
    assert.isUndefined(decodeHeader(new MessageReader(message)))
  })

  it("is invalid without a node, or without a generation of it", () => {
    const ofGeneration = (node: string, generation: number) =>
      new MessageReader(new MessageWriter(Buffer.alloc(300)).beginMessage(node).finishMessage(generation, 0, 0))
    assert.isUndefined(decodeHeader(ofGeneration("", 1)))
    assert.isUndefined(decodeHeader(ofGeneration("n", 0)))
    assert.isDefined(decodeHeader(ofGeneration("n", 1)))
  })

  it("is invalid at any shorter length", () => {
    const message = messageOf("node", [])
    for (let length = 0; length < message.length; length++) {
      assert.isUndefined(decodeHeader(new MessageReader(message.subarray(0, length))))
    }
  })

  it("takes a name of 255 bytes", () => {
    const longest = `${"é".repeat(127)}x`
    assert.strictEqual(decodeHeader(new MessageReader(messageOf(longest, [])))?.node, longest)
    assert.isTrue(isValidNodeName(longest))
    assert.isFalse(isValidNodeName(`${longest}x`))
    assert.isFalse(isValidNodeName(""))
  })
})

describe("message with frames", () => {
  it("gives one frame after the other, each with its own bytes", () => {
    const reader = new MessageReader(messageOf("n", [frameKinds.cancel, frameKinds.discard]))
    decodeHeader(reader)
    const first = reader.nextFrame()
    assert.deepStrictEqual([first?.remaining, first?.u8(), first?.u32(), first?.remaining], [5, 3, 3, 0])
    assert.deepStrictEqual([first?.u8(), first?.isTruncated], [0, true])
    const second = reader.nextFrame()
    assert.deepStrictEqual([second?.u8(), String(second?.rest())], [9, "\u0000\u0000\u0000\u0009"])
    assert.deepStrictEqual([reader.remaining, reader.isTruncated], [0, false])
  })

  it("ends with a frame that is empty or truncated", () => {
    const framed = (length: number, bytes: number) => {
      const message = Buffer.alloc(4 + bytes)
      message.writeUInt32BE(length)
      return new MessageReader(message).nextFrame()
    }
    assert.isUndefined(framed(0, 1))
    assert.isUndefined(framed(2, 1))
    assert.isDefined(framed(1, 1))
  })
})

describe("MessageWriter", () => {
  it("tells the length, the room that is left, and whether a message has frames", () => {
    const writer = new MessageWriter(Buffer.alloc(300)).beginMessage("node")
    assert.deepStrictEqual([writer.length, writer.remaining, writer.isEmpty], [19, 281, true])
    writer.beginFrame(frameKinds.cancel).u32(1).endFrame()
    assert.deepStrictEqual([writer.length, writer.remaining, writer.isEmpty], [28, 272, false])
    assert.isTrue(writer.beginMessage("n").isEmpty)
  })

  it("writes the values that MessageReader reads", () => {
    const bytes = encodeFields(100, 8, (writer) =>
      writer
        .u8(255)
        .u32(0xfffffffe)
        .f64(-1.5)
        .string("é")
        .bytes(Buffer.from("ab"))
        .content("ü")
        .content(Buffer.from("c"))
    )
    const reader = new MessageReader(Buffer.from(bytes))
    assert.deepStrictEqual(
      [reader.u8(), reader.u8(), reader.u32(), reader.f64(), reader.string(), String(reader.slice(2))],
      [8, 255, 0xfffffffe, -1.5, "é", "ab"]
    )
    assert.strictEqual(String(reader.rest()), "üc")
    assert.isFalse(reader.isTruncated)
  })
})

describe("MessageReader", () => {
  it("reads the bytes between two positions", () => {
    const reader = new MessageReader(Buffer.from("abcdef"), 1, 4)
    assert.strictEqual(reader.remaining, 3)
    assert.strictEqual(String(reader.slice(2)), "bc")
    assert.strictEqual(reader.u16(), 0)
    assert.isTrue(reader.isTruncated)
    assert.strictEqual(reader.remaining, 0)
  })

  it.each([
    ["u8", 1],
    ["u16", 2],
    ["u32", 4],
    ["f64", 8]
  ] as const)("reads 0 as %s when fewer than %i bytes are left", (read, bytes) => {
    const complete = new MessageReader(Buffer.alloc(bytes, 1))
    assert.notStrictEqual(complete[read](), 0)
    assert.isFalse(complete.isTruncated)
    const truncated = new MessageReader(Buffer.alloc(bytes - 1, 1))
    assert.strictEqual(truncated[read](), 0)
    assert.isTrue(truncated.isTruncated)
  })

  it("reads nothing more after a truncated value", () => {
    const reader = new MessageReader(Buffer.from([0, 0, 0, 9, 97]))
    assert.strictEqual(reader.string(), "")
    assert.deepStrictEqual([reader.u8(), reader.slice(1).length, reader.isTruncated], [0, 0, true])
  })
})

describe("size of a text", () => {
  it.each(["", "abc", "é", "€", "😀"])("of %j is at most what is announced", (text) => {
    const bytes = Buffer.byteLength(text)
    assert.isAtLeast(maxStringBytes(text), 4 + bytes)
    assert.isAtLeast(maxContentBytes(text), bytes)
    assert.strictEqual(maxContentBytes(toBytes(text)), bytes)
    assert.strictEqual(String(toBytes(text)), text)
  })

  it("equals that for the widest characters", () => {
    assert.deepStrictEqual([maxStringBytes("€€"), maxContentBytes("€€")], [10, 6])
  })
})
