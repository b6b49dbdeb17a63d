import { oneIn, pick, type Random } from "../random.ts"
import type { Client } from "./Client.ts"
import { openTcp } from "./rawTcp.ts"
import { entranceOf, message } from "./memberships.ts"

const upgrade = (host: string): string =>
  [
    "GET /smcp/?EIO=4&transport=websocket&a2c_version=0.2.0 HTTP/1.1",
    `Host: ${host}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "\r\n"
  ].join("\r\n")

/** The first byte of a final text frame. */
const text = 0x81

/** First bytes of continuation, reserved, fragmented and control frames. */
const firstBytes = [0x00, 0x01, 0x02, 0x80, 0x82, 0x83, 0x88, 0x89, 0x8a, 0x8b, 0x09, 0xc1, 0xf1, 0xff]

/** The length fields after the mask bit: in 7 bits, two bytes and eight bytes. */
const lengths = ["0000", "ffff", "0000000000000000", "7fffffffffffffff", "ffffffffffffffff", "0000000000010000"]

/** A masked frame of a client. */
const frameOf = (payload: Buffer, first = text, masked = true): Buffer => {
  const mask = Buffer.from("a2c15eed", "hex")
  const bit = masked ? 0x80 : 0
  const head =
    payload.length < 126
      ? Buffer.from([first, bit | payload.length])
      : Buffer.from([first, bit | 126, payload.length >> 8, payload.length & 0xff])
  if (!masked) return Buffer.concat([head, payload])
  const body = Buffer.from(payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0)))
  return Buffer.concat([head, mask, body])
}

/** A frame that may be invalid. */
const strangeFrame = (payload: Buffer, random: Random): Buffer => {
  const first = oneIn(random, 3) ? pick(random, firstBytes) : text
  const frame = frameOf(payload.subarray(0, 65_535), first, !oneIn(random, 16))
  if (oneIn(random, 8)) {
    const length = Buffer.from(pick(random, lengths), "hex")
    return Buffer.concat([Buffer.from([first, length.length === 2 ? 0xfe : 0xff]), length, frame.subarray(2)])
  }
  return oneIn(random, 10) ? frame.subarray(0, random(frame.length + 1)) : frame
}

/** A client that sends handmade WebSocket frames. */
export const openFrames = async (url: string, random: Random, lane: number): Promise<Client> => {
  const raw = await openTcp(url)
  raw.write(upgrade(new URL(url).host))
  await raw.receive("\r\n\r\n")
  const { connect } = entranceOf(lane)
  if (!oneIn(random, 6)) {
    raw.write(frameOf(Buffer.from(connect)))
    await raw.receive("40/smcp,")
  }
  return {
    isOpen: () => !raw.isClosed(),
    send: async (input, choose) => {
      raw.write(strangeFrame(Buffer.concat([message, input]), choose))
      if (oneIn(choose, 4)) {
        raw.end()
        await raw.closed
      }
      return raw.isClosed() ? "refused" : "accepted"
    },
    close: async () => {
      raw.end()
      await raw.closed
    }
  }
}
