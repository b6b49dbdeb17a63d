import { Emitter } from "@socket.io/component-emitter"
import { Result } from "effect"
import * as Stock from "socket.io-parser"
import { type Body, receivedBody } from "../../../application/ports/Body.ts"
import { replaceEscapedNames } from "../../../domain/escapedNames.ts"
import { asObject, asString } from "../../../domain/json.ts"

/** The event name and the values of an event or an acknowledgement; `undefined` for other packets. */
const argumentsOf = ({ data, type }: Stock.Packet): Array<unknown> | undefined =>
  (type === Stock.PacketType.EVENT || type === Stock.PacketType.ACK) && Array.isArray(data) ? data : undefined

/** Everything a peer sent arrives as a body; what else stands among the arguments is ours. */
export const isBody = (value: unknown): value is Body =>
  typeof value === "object" && value !== null && "head" in value && "text" in value

const encodeValue = (value: unknown): string =>
  isBody(value)
    ? Result.getOrElse(value.text(), () => "null")
    : ((JSON.stringify(value) as string | undefined) ?? "null")

/** Writes packets in the standard format; a body goes out as the text it holds. */
class Encoder {
  readonly #stock = new Stock.Encoder()
  encode(packet: Stock.Packet): Array<unknown> {
    const values = argumentsOf(packet)
    if (values === undefined) return this.#stock.encode(packet)
    const namespace = packet.nsp === "/" ? "" : `${packet.nsp},`
    return [`${packet.type}${namespace}${packet.id ?? ""}[${values.map(encodeValue).join(",")}]`]
  }
}

/**
 * Reads packets in the standard format; all values but the event name arrive as a {@link Body}. Until the reply to the
 * connect, packets that cannot belong to it are errors: the client of Socket.IO would ignore them and wait.
 */
class BodyDecoder extends Emitter<object, object, { readonly decoded: (packet: Stock.Packet) => void }> {
  readonly #stock = new Stock.Decoder()
  /** Puts the names back that were replaced in the last text. */
  #restore: ((value: unknown) => void) | undefined
  #isConnected = false
  constructor(namespace: string) {
    super()
    this.#stock.on("decoded", (packet) => {
      this.#restore?.(packet.data)
      const isEarly = !this.#isConnected && (packet.nsp !== namespace || packet.type === Stock.PacketType.ACK)
      if (isEarly || !isExpected(packet, this.#isConnected)) {
        throw new TypeError(`unexpected packet of type ${packet.type}`)
      }
      this.#isConnected ||= packet.type === Stock.PacketType.CONNECT
      this.emitReserved("decoded", wrapBodies(packet))
    })
  }
  add(chunk: unknown): void {
    if (typeof chunk !== "string") return this.#stock.add(chunk)
    const escaped = replaceEscapedNames(chunk)
    this.#restore = escaped?.restore
    if (!this.#isConnected && isBinary(chunk)) throw new TypeError("unexpected binary packet")
    return this.#stock.add(escaped?.text ?? chunk)
  }
  destroy(): void {
    this.#stock.destroy()
  }
}

/** Makes the parser of a client that connects to one namespace. */
export const makeParser = (
  namespace: string
): { readonly Encoder: typeof Encoder; readonly Decoder: new () => BodyDecoder } => ({
  Encoder,
  // The stock class is also named `Decoder`: bundlers that merge modules may confuse the two.
  Decoder: class extends BodyDecoder {
    constructor() {
      super(namespace)
    }
  }
})

/** True for the text of a packet whose attachments follow. */
const isBinary = (text: string): boolean =>
  [Stock.PacketType.BINARY_EVENT, Stock.PacketType.BINARY_ACK].includes(Number(text.charAt(0)))

/**
 * True for a packet that the client of Socket.IO can handle. Others would be uncaught exceptions, and a rejection after the
 * connect would close the connection without an event.
 */
const isExpected = ({ data, id, type }: Stock.Packet, isConnected: boolean): boolean => {
  const { ACK, CONNECT, CONNECT_ERROR, EVENT } = Stock.PacketType
  if (type === CONNECT) return !isConnected && Boolean(asString(asObject(data)["sid"]))
  if (type === CONNECT_ERROR) return !isConnected && asString(rejectionOf(data)["message"]) !== undefined
  if (type === EVENT) return Array.isArray(data) && typeof data[0] === "string"
  return type !== ACK || (Array.isArray(data) && id !== undefined)
}

/** The value of a rejection, which may be only its message. */
const rejectionOf = (data: unknown) => asObject(typeof data === "string" ? { message: data } : data)

const wrapBodies = (packet: Stock.Packet): Stock.Packet => {
  if (packet.type === Stock.PacketType.CONNECT_ERROR) return { ...packet, data: rejectionOf(packet.data) }
  const data = argumentsOf(packet)?.map((value, index) =>
    index === 0 && packet.type === Stock.PacketType.EVENT ? value : receivedBody(value)
  )
  return data === undefined ? packet : { ...packet, data }
}
