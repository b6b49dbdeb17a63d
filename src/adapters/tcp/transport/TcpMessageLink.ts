import type { Body } from "../../../application/ports/Body.ts"
import { MessageLink, type MessageLinkContext } from "../../bytes/MessageLink.ts"
import { maxWriteBytes } from "../../bytes/writeInParts.ts"
import { encodeEvent, encodeReply, type FrameMessage } from "./frames.ts"
import type { TcpConnection } from "./TcpConnection.ts"

/** One end of a link over TCP. The messages of one turn of the event loop share a write. */
export class TcpMessageLink extends MessageLink<FrameMessage> {
  readonly #connection: TcpConnection
  readonly #maxBytes: number
  readonly #queue: Array<FrameMessage> = []
  readonly #onWritten = () => this.reportBacklog()

  constructor(id: string, connection: TcpConnection, maxBytes: number, context: MessageLinkContext) {
    super(id, context)
    this.#connection = connection
    this.#maxBytes = maxBytes
  }

  override maxBytes(): number {
    return this.#maxBytes
  }

  sentBytes(): number {
    return this.#connection.output.sentBytes
  }

  pauseReading(millis: number): void {
    const { socket } = this.#connection
    socket.pause()
    setTimeout(() => socket.resume(), millis).unref()
  }

  protected bufferedBytes(): number {
    return this.#connection.output.writableLength
  }

  protected encodeEvent(id: number | undefined, event: string, body: Body): FrameMessage {
    return encodeEvent(id ?? 0, event, body, this)
  }

  protected encodeReply(id: number, values: ReadonlyArray<Body>): FrameMessage {
    return encodeReply(id, values, this)
  }

  protected write(message: FrameMessage): void {
    if (this.#queue.push(message) === 1) setImmediate(() => this.#flush())
  }

  protected closeConnection(discard: boolean, reason: string): void {
    if (discard) return this.#connection.destroy(reason)
    this.#flush()
    return this.#connection.end(reason)
  }

  #flush(): void {
    const { output } = this.#connection
    const messages = this.#queue.splice(0)
    const chunks = messages.flatMap((message) => message.chunks)
    const last = chunks.at(-1)
    if (last === undefined) return
    // Short frames are copied: one write costs less than several.
    const isShort = messages.reduce((sum, { size }) => sum + size, 0) <= maxWriteBytes
    if (isShort) output.write(chunks.length === 1 ? last : Buffer.concat(chunks), this.#onWritten)
    else for (const chunk of chunks) output.write(chunk, chunk === last ? this.#onWritten : undefined)
    for (const { queue, size } of messages) queue.onDequeued(size)
    this.reportBacklog()
  }
}
