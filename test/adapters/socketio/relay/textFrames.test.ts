import type { EventEmitter } from "node:events"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import * as webSockets from "ws"
import { readBefore } from "../../../../src/adapters/socketio/internals.ts"
import { takeTextFrames } from "../../../../src/adapters/socketio/relay/textFrames.ts"

const { Receiver } = webSockets as unknown as {
  readonly Receiver: new (options: object) => EventEmitter & { readonly write: (bytes: Buffer) => boolean }
}

const maxPayload = 70_000

/** A masked frame. The mask depends on the length, so that it has all kinds of bytes. */
const frame = (first: number, payload: Buffer): Buffer => {
  const { length } = payload
  const size = length < 126 ? [length] : length < 65_536 ? [126, length >> 8, length & 255] : undefined
  const sizes = size ?? [127, 0, 0, 0, 0, 0, length >> 16, (length >> 8) & 255, length & 255]
  const mask = [length & 255, 0x5a, (length * 7) & 255, 0xff]
  const masked = payload.map((byte, index) => byte ^ (mask[index & 3] ?? 0))
  return Buffer.concat([Buffer.from([first, 0x80 | (sizes[0] ?? 0), ...sizes.slice(1), ...mask]), masked])
}

const text = (value: string) => frame(0x81, Buffer.from(value))

/** What each kind of frame adds, for a text of a client. */
const kinds: { readonly [kind: string]: (value: string) => Buffer } = {
  text,
  long: (value) => text(value.padEnd(66_000, "é")),
  medium: (value) => text(value.padEnd(300, "z")),
  binary: (value) => frame(0x82, Buffer.from(value)),
  fragmented: (value) =>
    Buffer.concat([frame(0x01, Buffer.from(value)), frame(0x89, Buffer.from("ping")), frame(0x80, Buffer.from("!"))]),
  interrupted: (value) => Buffer.concat([frame(0x01, Buffer.from(value)), text(value)]),
  ping: (value) => frame(0x89, Buffer.from(value.slice(0, 20))),
  invalid: () => frame(0x81, Buffer.from([0x22, 0xff, 0x22])),
  tooLong: () => text("x".repeat(80_000)),
  unmasked: (value) => Buffer.concat([Buffer.from([0x81, 1]), Buffer.from(value.slice(0, 1))]),
  close: () => frame(0x88, Buffer.from([0x03, 0xe8]))
}

/** What a receiver of `ws` reports of bytes that arrive in chunks of these sizes, with the fast path or without. */
const received = (bytes: Buffer, sizes: ReadonlyArray<number>, isFast: boolean): ReadonlyArray<string> => {
  const received: Array<string> = []
  const receiver = new Receiver({ isServer: true, maxPayload })
  let isOpen = true
  for (const event of ["message", "ping", "conclude"]) {
    receiver.on(event, (data: Buffer | number) => received.push(`${event} ${data.toString()}`))
  }
  // A connection ends with the first error, and after a close frame.
  receiver.on("conclude", () => (isOpen = false))
  receiver.on("error", (error: Error) => {
    received.push(error.message)
    isOpen = false
  })
  if (isFast) {
    readBefore({ _receiver: receiver }, (chunk, maxBytes) =>
      takeTextFrames(chunk, maxBytes, (data) => {
        received.push(`message ${data.toString()}`)
        return true
      })
    )
  }
  let from = 0
  for (const size of [...sizes, bytes.length]) {
    if (from < bytes.length && isOpen) receiver.write(Buffer.from(bytes.subarray(from, from + size)))
    from += size
  }
  return received
}

describe("takeTextFrames", () => {
  const Parts = Schema.Array(Schema.Struct({ kind: Schema.Literals(Object.keys(kinds)), value: Schema.String }))
  const Sizes = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 400 })))

  it.prop("gives the messages that ws gives, for all chunks", [Parts, Sizes], ([parts, sizes]) => {
    const bytes = Buffer.concat(parts.map(({ kind, value }) => kinds[kind]?.(value) ?? Buffer.alloc(0)))
    assert.deepStrictEqual(received(bytes, sizes, true), received(bytes, sizes, false))
  })

  for (const kind of Object.keys(kinds)) {
    it(`gives the messages that ws gives, before and after ${kind}`, () => {
      const bytes = Buffer.concat([text("before"), kinds[kind]?.("of a client") ?? Buffer.alloc(0), text("after")])
      assert.deepStrictEqual(received(bytes, [], true), received(bytes, [], false))
    })
  }

  const first = frame(0x01, Buffer.from("first"))
  const inner = text("inner")
  const parts: { readonly [place: string]: readonly [Buffer, number] } = {
    // The second byte says that one byte follows the mask. From there on, the bytes are also an empty text frame.
    "within its header": [Buffer.from([0x82, 0x81, 0x80, 1, 2, 3, 4]), 1],
    "after its header": [Buffer.concat([Buffer.from([0x82, 0x80 | inner.length, 0, 0, 0, 0]), inner]), 6],
    "after its first frame": [Buffer.concat([first, text("second")]), first.length]
  }
  for (const [place, [bytes, size]] of Object.entries(parts)) {
    it(`gives the messages that ws gives when a message is divided ${place}`, () => {
      assert.deepStrictEqual(received(bytes, [size], true), received(bytes, [size], false))
    })
  }

  it("takes whole messages", () => {
    const bytes = Buffer.concat([text("one"), text("x".repeat(300)), text("")])
    const taken: Array<string> = []
    assert.strictEqual(
      takeTextFrames(bytes, maxPayload, (data) => taken.push(data.toString()) > 0),
      bytes.length
    )
    assert.deepStrictEqual(taken, ["one", "x".repeat(300), ""])
  })

  it("leaves the bytes after a message that closes the connection", () => {
    const bytes = Buffer.concat([text("one"), text("two")])
    assert.strictEqual(
      takeTextFrames(bytes, maxPayload, () => false),
      text("one").length
    )
  })

  it("leaves a message beyond the largest allowed one", () => {
    const bytes = text("x".repeat(300))
    const take = (maxBytes: number) => takeTextFrames(Buffer.from(bytes), maxBytes, () => true)
    assert.deepStrictEqual([take(300), take(299)], [bytes.length, 0])
  })

  it("unmasks at every position in memory", () => {
    for (let offset = 0; offset < 8; offset++) {
      for (let length = 0; length < 12; length++) {
        const value = "abcdefghijkl".slice(0, length)
        const bytes = Buffer.concat([Buffer.alloc(offset), text(value)]).subarray(offset)
        const taken: Array<string> = []
        takeTextFrames(bytes, maxPayload, (data) => taken.push(data.toString()) > 0)
        assert.deepStrictEqual(taken, [value])
      }
    }
  })
})
