import { assert, describe, it } from "@effect/vitest"
import { watchAcknowledgements } from "./Acknowledgements.ts"

const head = Buffer.from("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")

/** A text frame of a server. */
const frame = (text: string): Buffer => {
  const content = Buffer.from(text)
  const { length } = content
  if (length < 126) return Buffer.concat([Buffer.from([0x81, length]), content])
  if (length < 65_536) return Buffer.concat([Buffer.from([0x81, 126, length >> 8, length & 0xff]), content])
  const long = Buffer.alloc(10)
  long.set([0x81, 127])
  long.writeBigUInt64BE(BigInt(length), 2)
  return Buffer.concat([long, content])
}

/** Watches a stream that arrives in chunks of this size. */
const found = (stream: Buffer, size: number): ReadonlyArray<string> => {
  const twice: Array<string> = []
  const look = watchAcknowledgements((request) => void twice.push(request))
  for (let at = 0; at < stream.length; at += size) look(stream.subarray(at, at + size))
  return twice
}

const answers = ["1", "23", "4"].map((id) => frame(`43/smcp,${id}["${"x".repeat(id.length * 40_000)}"]`))
const others = [frame("2"), frame('42/smcp,["notify:enter_office",{}]'), frame('42/smcp,7["client:x",{}]')]

describe("Acknowledgements", () => {
  for (const size of [1, 7, 1000, 1_000_000]) {
    it(`reports a repeated acknowledgement, in chunks of ${size} bytes`, () => {
      const once = Buffer.concat([head, ...answers, ...others, ...others])
      assert.deepStrictEqual(found(once, size), [])
      assert.deepStrictEqual(found(Buffer.concat([once, ...answers.slice(1, 2), ...others]), size), ["23"])
    })
  }

  it("ignores connections other than WebSocket", () => {
    const page = Buffer.from("HTTP/1.1 200 OK\r\n\r\n")
    assert.deepStrictEqual(found(Buffer.concat([page, ...answers, ...answers]), 1000), [])
  })
})
