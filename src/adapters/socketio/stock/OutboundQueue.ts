import type { Socket as EngineSocket } from "engine.io"
import type { OutboundMessage } from "../connection/OutboundMessage.ts"
import { maxPollResponseBytes } from "../limits.ts"

/** Passes messages to Engine.IO, for polling in responses of limited size. */
export class OutboundQueue {
  readonly #engineSocket: EngineSocket
  /** In the buffer of Engine.IO, without their bytes. */
  #passed: Array<Pick<OutboundMessage, "queue" | "size">> = []
  #passedBytes = 0
  /** Not in that buffer yet. */
  readonly #held: Array<OutboundMessage> = []

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
    })
    // Engine.IO adds what is sent before this event to the same response.
    engineSocket.on("drain", () => this.#pass())
  }

  write(message: OutboundMessage): void {
    this.#held.push(message)
    this.#pass()
    if (this.#held.length > 0) message.compact()
  }

  /** Frees all messages. */
  close(): void {
    this.#held.length = 0
    this.#passed = []
  }

  #pass(): void {
    while (this.#passedBytes < maxPollResponseBytes) {
      const message = this.#held.shift()
      if (message === undefined) return
      const { queue, size } = message
      this.#passed.push({ queue, size })
      this.#passedBytes += size
      this.#engineSocket.send(message.text())
    }
  }
}
