import type { Socket } from "node:net"
import { writeProgressOf } from "../../http/writeProgress.ts"
import { type EngineRequest, incompleteBytesOf } from "../internals.ts"
import { maxUnauthenticatedBytes } from "../limits.ts"
import { ConnectionBudget } from "./ConnectionBudget.ts"

/** The bytes of a connection or of one of its transports. */
export interface Traffic {
  /** Bytes that the transport holds and the network has not taken. */
  readonly bufferedBytes: () => number
  /** Bytes that the network has taken. */
  readonly sentBytes: () => number
  /** Approximate memory of the message that has arrived in part. */
  readonly incompleteBytes: () => number
  /** Bytes that have arrived. */
  readonly receivedBytes: () => number
  /** Reads nothing for some milliseconds, where the transport can do that. */
  readonly pauseFor: (millis: number) => void
}

/** What a transport reports to its connection. */
export interface TrafficListener {
  /** {@link Traffic.incompleteBytes} may have changed. */
  readonly onBytesReceived: () => void
  /** {@link Traffic.bufferedBytes} has changed. */
  readonly onBacklogChange: () => void
}

/** What {@link WebSocketTraffic} reports. */
export interface WebSocketListener extends Pick<TrafficListener, "onBytesReceived"> {
  readonly onViolation: (violation: "ping_flood" | "unauthenticated_bytes_exceeded") => void
  readonly isAdmitted: () => boolean
}

export class WebSocketTraffic implements Traffic {
  readonly #webSocket: EngineRequest["websocket"]
  readonly #netSocket: Socket | undefined
  /** Reading stops while this is positive. */
  #pauseCount = 0
  /** {@link pauseFor} has stopped reading. */
  #isPaused = false

  constructor(webSocket: EngineRequest["websocket"], netSocket: Socket | undefined, listener: WebSocketListener) {
    this.#webSocket = webSocket
    this.#netSocket = netSocket
    const controlFrames = new ConnectionBudget()
    let arrivedBytes = 0
    // Counts bytes as they arrive: `ws` holds the bytes of an incomplete message.
    netSocket?.on("data", (chunk: Buffer) => {
      if (!listener.isAdmitted()) {
        arrivedBytes += chunk.length
        if (arrivedBytes > maxUnauthenticatedBytes) return listener.onViolation("unauthenticated_bytes_exceeded")
      }
      return listener.onBytesReceived()
    })
    // `ws` answers control frames without an event of Engine.IO.
    const onControlFrame = () => {
      if (!controlFrames.spend()) listener.onViolation("ping_flood")
    }
    webSocket?.on("ping", onControlFrame)
    webSocket?.on("pong", onControlFrame)
  }

  bufferedBytes(): number {
    return this.#webSocket?.bufferedAmount ?? 0
  }

  sentBytes(): number {
    return this.#netSocket === undefined ? 0 : writeProgressOf(this.#netSocket).bytesSent
  }

  incompleteBytes(): number {
    return incompleteBytesOf(this.#webSocket)
  }

  receivedBytes(): number {
    return this.#netSocket?.bytesRead ?? 0
  }

  pauseFor(millis: number): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.pause()
    setTimeout(() => {
      this.#isPaused = false
      this.resume()
    }, millis).unref()
  }

  /** Stops reading until {@link resume}. */
  pause(): void {
    this.#pauseCount += 1
    if (this.#pauseCount === 1) this.#webSocket?.pause()
  }

  resume(): void {
    this.#pauseCount -= 1
    if (this.#pauseCount === 0) this.#webSocket?.resume()
  }

  /** Frees what the peer has not read. */
  discard(): void {
    this.#webSocket?.terminate()
  }
}
