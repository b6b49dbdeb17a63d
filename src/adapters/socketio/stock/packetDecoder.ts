import { Emitter } from "@socket.io/component-emitter"
import type { Packet } from "socket.io-parser"
import type * as parser from "socket.io-parser"

type Parser = Pick<typeof parser, "Decoder" | "Encoder">

/** Takes the data of one connection that belong to this package; `emit` passes a packet on to Socket.IO. */
export type TakeData = (data: unknown, emit: (packet: Packet) => void) => boolean

/**
 * A parser of Socket.IO that offers the data of each connection to a function first, and passes the rest to the parser
 * `base`. `open` is called for each new connection.
 */
export const makeMemberParser = (base: Parser, open: () => TakeData): Parser => {
  class MemberDecoder extends Emitter<object, object, { readonly decoded: (packet: Packet) => void }> {
    readonly #inner = new base.Decoder()
    readonly #takeData = open()
    readonly #emit = (packet: Packet): void => void this.emitReserved("decoded", packet)

    constructor() {
      super()
      this.#inner.on("decoded", this.#emit)
    }

    add(data: unknown): void {
      if (!this.#takeData(data, this.#emit)) this.#inner.add(data)
    }

    destroy(): void {
      this.#inner.destroy()
    }
  }
  return { Encoder: base.Encoder, Decoder: MemberDecoder as unknown as Parser["Decoder"] }
}
