import { Emitter } from "@socket.io/component-emitter"
import { Result } from "effect"
import * as Stock from "socket.io-parser"
import { type Body, receivedBody } from "../../../application/ports/Body.ts"

const hasBodies = ({ type }: Stock.Packet): boolean => type === Stock.PacketType.EVENT || type === Stock.PacketType.ACK

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

/** Reads packets in the standard format; all values but the event name arrive as a {@link Body}. */
// The stock class is named `Decoder`, too: bundlers that merge modules may confuse the two.
class BodyDecoder extends Emitter<object, object, DecoderEvents> {
  readonly #stock = new Stock.Decoder()
  constructor() {
    super()
    this.#stock.on("decoded", (packet) => this.emitReserved("decoded", wrapBodies(packet)))
  }
  add(chunk: unknown): void {
    this.#stock.add(chunk)
  }
  destroy(): void {
    this.#stock.destroy()
  }
}
export { BodyDecoder as Decoder }

const wrapBodies = (packet: Stock.Packet): Stock.Packet => {
  if (!hasBodies(packet) || !Array.isArray(packet.data)) return packet
  const nameCount = packet.type === Stock.PacketType.EVENT ? 1 : 0
  const bodies = packet.data.slice(nameCount).map(receivedBody)
  return { ...packet, data: [...packet.data.slice(0, nameCount), ...bodies] }
}
