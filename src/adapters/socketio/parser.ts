import { Emitter } from "@socket.io/component-emitter"
import { Result } from "effect"
import * as Stock from "socket.io-parser"
import { type Body, invalidBody, receivedBody } from "../../application/ports/Body.ts"
import { payloadTooLarge } from "../../domain/model/ProtocolError.ts"
import { maxEnvelopeBytes } from "./limits.ts"

const utf8 = new TextEncoder()

/** Length of a text in UTF-8, counted only when the cheap upper bound leaves a doubt. */
export const exceedsBytes = (text: string, bytes: number): boolean =>
  text.length > bytes || (text.length * 3 > bytes && utf8.encode(text).length > bytes)

const hasBodies = ({ type }: Stock.Packet): boolean =>
  type === Stock.PacketType.EVENT || type === Stock.PacketType.ACK

/** Everything a peer sent arrives as a body; what else stands among the arguments is ours. */
export const isBody = (value: unknown): value is Body =>
  typeof value === "object" && value !== null && "head" in value && "text" in value

const encodeValue = (value: unknown): string =>
  isBody(value)
    ? Result.getOrElse(value.text(), () => "null")
    : ((JSON.stringify(value) as string | undefined) ?? "null")

/** Writes packets in the standard format; a body goes out as the text it holds. */
export class Encoder {
  readonly #stock = new Stock.Encoder()
  encode(packet: Stock.Packet): Array<unknown> {
    if (!hasBodies(packet) || !Array.isArray(packet.data)) return this.#stock.encode(packet)
    const namespace = packet.nsp === "/" ? "" : `${packet.nsp},`
    return [`${packet.type}${namespace}${packet.id ?? ""}[${packet.data.map(encodeValue).join(",")}]`]
  }
}

interface DecoderEvents {
  readonly decoded: (packet: Stock.Packet) => void
}

/** What Socket.IO asks of a decoder. */
interface PacketDecoder extends Emitter<object, object, DecoderEvents> {
  readonly add: (chunk: unknown) => void
  readonly destroy: () => void
}

/**
 * Reads packets in the standard format; everything but the name of an event arrives as a {@link Body}. A packet that
 * is larger than the limit is still read as far as its envelope, so that its sender can be told.
 */
export const makeDecoderClass = (maxBytes: number): (new () => PacketDecoder) =>
  // Not named as the stock one: a bundler that merges modules may take the one name for the other.
  class BodyDecoder extends Emitter<object, object, DecoderEvents> implements PacketDecoder {
    readonly #stock = new Stock.Decoder()
    #size = 0
    constructor() {
      super()
      this.#stock.on("decoded", (packet) => {
        const isTooLarge = this.#size > maxBytes + maxEnvelopeBytes
        this.#size = 0
        this.emitReserved("decoded", wrapBodies(packet, isTooLarge ? maxBytes : undefined))
      })
    }
    add(chunk: unknown): void {
      if (typeof chunk === "string") {
        this.#size += exceedsBytes(chunk, maxBytes + maxEnvelopeBytes) ? maxBytes + maxEnvelopeBytes + 1 : 0
      } else if (ArrayBuffer.isView(chunk)) this.#size += chunk.byteLength
      this.#stock.add(chunk)
    }
    destroy(): void {
      this.#stock.destroy()
    }
  }

const wrapBodies = (packet: Stock.Packet, exceededLimit: number | undefined): Stock.Packet => {
  if (!hasBodies(packet) || !Array.isArray(packet.data)) return packet
  const nameCount = packet.type === Stock.PacketType.EVENT ? 1 : 0
  const bodies = packet.data
    .slice(nameCount)
    .map((value: unknown) =>
      exceededLimit === undefined ? receivedBody(value) : invalidBody(payloadTooLarge(exceededLimit))
    )
  return { ...packet, data: [...packet.data.slice(0, nameCount), ...bodies] }
}
