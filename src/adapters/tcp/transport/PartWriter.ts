import type { Socket } from "node:net"
import { Writable } from "node:stream"
import { writeInParts, writeProgressOf } from "../../bytes/writeInParts.ts"

/** Passes data on to a socket in parts, each when the network has taken the one before: a slow reader is seen to read. */
export class PartWriter extends Writable {
  readonly #socket: Socket

  constructor(socket: Socket) {
    super()
    this.#socket = socket
    // The socket reports its errors itself.
    this.on("error", () => undefined)
    socket.once("close", () => this.destroy())
  }

  /** Bytes that the network has taken. */
  get sentBytes(): number {
    return writeProgressOf(this.#socket).sentBytes
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    writeInParts(this.#socket, chunk, (_, isDone) => isDone && done(), false)
  }

  override _final(done: () => void): void {
    this.#socket.end(done)
  }
}
