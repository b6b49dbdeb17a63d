import type { Socket } from "node:net"
import { Writable } from "node:stream"
import { maxWriteBytes } from "../../http/writeInParts.ts"

/** Passes data on to a socket in parts, each when the network has taken the one before: a slow reader is seen to read. */
export class PartWriter extends Writable {
  readonly #socket: Socket
  /** Bytes that the network has taken. */
  sentBytes = 0

  constructor(socket: Socket) {
    super()
    this.#socket = socket
    // The socket reports its errors itself.
    this.on("error", () => undefined)
    socket.once("close", () => this.destroy())
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const writeFrom = (at: number): void => {
      const part = chunk.subarray(at, at + maxWriteBytes)
      this.#socket.write(part, (error) => {
        if (error) return done(error)
        this.sentBytes += part.length
        return at + part.length < chunk.length ? writeFrom(at + part.length) : done()
      })
    }
    writeFrom(0)
  }

  override _final(done: () => void): void {
    this.#socket.end(done)
  }
}
