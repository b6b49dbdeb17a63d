import type { Socket as EngineSocket } from "engine.io"
import type { OutboundMessage } from "../connection/OutboundMessage.ts"
import { preEncoded, takesFrames } from "../internals.ts"
import { maxPollResponseBytes } from "../limits.ts"

/** Passes messages to Engine.IO, for polling in responses of limited size. */
export class OutboundQueue {
  readonly #engineSocket: EngineSocket
  /** In the buffer of Engine.IO, without their bytes. */
  #passed: Array<Pick<OutboundMessage, "queue" | "size">> = []
  #passedBytes = 0
  /** Not in that buffer yet. */
  readonly #held: Array<OutboundMessage> = []
  #isPumping = false

  /** `onFlush` gets the bytes of messages that the transport takes. */
  constructor(engineSocket: EngineSocket, onFlush: (bytes: number) => void) {
    this.#engineSocket = engineSocket
    engineSocket.on("flush", () => {
      const flushed = this.#passed
      const bytes = this.#passedBytes
      this.#passed = []
      this.#passedBytes = 0
      for (const { queue, size } of flushed) queue.onDequeued(size)
      if (bytes > 0) onFlush(bytes)
      this.#pumpSoon()
    })
  }

  write(message: OutboundMessage): void {
    if (this.#held.length === 0 && this.#hasRoom()) this.#pass(message)
    else this.#held.push(message.compact())
  }

  /** Frees all messages. */
  close(): void {
    this.#held.length = 0
    this.#passed = []
  }

  #hasRoom(): boolean {
    return this.#engineSocket.transport.name !== "polling" || this.#passedBytes < maxPollResponseBytes
  }

  #pass(message: OutboundMessage): void {
    const { queue, size } = message
    this.#passed.push({ queue, size })
    this.#passedBytes += size
    const { transport } = this.#engineSocket
    // A connection never goes back to polling, which would need the text.
    if (takesFrames(transport)) this.#engineSocket.send("", preEncoded(message.frame()).options)
    else this.#engineSocket.send(message.text())
  }

  /** Engine.IO adds what is sent during a flush to the same response. */
  #pumpSoon(): void {
    if (this.#held.length === 0 || this.#isPumping) return
    this.#isPumping = true
    setImmediate(() => {
      this.#isPumping = false
      while (this.#held.length > 0 && this.#hasRoom()) {
        const message = this.#held.shift()
        if (message !== undefined) this.#pass(message)
      }
    })
  }
}
