import type { IncomingMessage, ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { writeInParts } from "../../bytes/writeInParts.ts"
import type { Traffic, TrafficListener } from "../connection/Traffic.ts"
import { closeTimeout, maxUnauthenticatedBytes } from "../limits.ts"
import { maxPacketsPerPayload } from "../relay/payloads.ts"
import { webSocketOn } from "./makeEngine.ts"

const packetSeparator = "\u001e"

/** Memory of a part of a payload beside its bytes. */
const chunkOverhead = 64

const countSeparators = (text: string): number => {
  let count = 0
  for (let at = text.indexOf(packetSeparator); at !== -1; at = text.indexOf(packetSeparator, at + 1)) count += 1
  return count
}

/** Runs an effect once another listener reads the data of a request: reading them before would lose some. */
const onceRead = (request: IncomingMessage, run: () => void): void => {
  const onListener = (event: string) => {
    if (event !== "data") return
    request.off("newListener", onListener)
    run()
  }
  request.on("newListener", onListener)
}

/** What the traffic of a connection reports. */
export interface StockTrafficListener extends TrafficListener {
  /** The limits of unauthenticated connections do not apply. */
  readonly isTrusted: () => boolean
  readonly maxPayloadBytes: () => number
  readonly onViolation: (violation: "too_many_packets" | "unauthenticated_bytes_exceeded") => void
}

/** Counts the bytes of a connection of Engine.IO: in its requests and responses, and on the socket of its WebSocket. */
export class StockTraffic implements Traffic {
  readonly #listener: StockTrafficListener
  /** The response that the peer waits for. */
  #poll: ServerResponse | undefined
  /** Responses with messages that the network has not taken. A peer may poll again before it has read a response. */
  readonly #unread = new Set<ServerResponse>()
  #unreadBytes = 0
  /** In responses. */
  #sentBytes = 0
  /** Of the payload that arrives, with the memory of its parts. */
  #payloadBytes = 0
  #payloadsBytes = 0
  #webSocket: Socket | undefined
  /** The socket of an upgrade. */
  #upgrading: Socket | undefined
  /** What had arrived on the WebSocket with its latest packet. */
  #readAtPacket = 0

  constructor(listener: StockTrafficListener) {
    this.#listener = listener
  }

  /** Follows a request to poll or to send before Engine.IO handles it. */
  trackRequest(request: IncomingMessage, response: ServerResponse): void {
    if (request.method === "POST") onceRead(request, () => this.#trackPayload(request))
    else if (request.method === "GET") this.#poll = response
  }

  /** Follows the socket of a request to upgrade. */
  trackUpgrade(socket: Socket): void {
    this.#upgrading = socket
    // Data that a host's functions for requests wait for must not flow.
    if (!this.#listener.isTrusted()) this.#countBytes(socket)
  }

  /** Follows the socket of a WebSocket, of the upgrade without an argument. */
  onWebSocket(socket = this.#upgrading): void {
    this.#webSocket = socket
    if (socket === undefined) return
    this.#readAtPacket = socket.bytesRead
    if (this.#listener.isTrusted() || socket !== this.#upgrading) this.#countBytes(socket)
    socket.on("drain", this.#listener.onBacklogChange)
    this.#upgrading = undefined
  }

  onPacket(): void {
    if (this.#webSocket !== undefined) this.#readAtPacket = this.#webSocket.bytesRead
  }

  /** Counts bytes of messages that the transport sends next. */
  onFlush(bytes: number): void {
    const response = this.#poll
    if (this.#webSocket !== undefined || response === undefined) return
    this.#poll = undefined
    let sentBytes = 0
    this.#unread.add(response)
    this.#unreadBytes += bytes
    response.once("close", () => {
      this.#unread.delete(response)
      this.#unreadBytes -= bytes
      this.#sentBytes += Math.max(0, bytes - sentBytes)
      this.#listener.onBacklogChange()
    })
    const end = response.end.bind(response)
    response.end = ((text?: string) => {
      response.end = end
      if (text === undefined) return end()
      // For a text, Node allocates three bytes a character until the peer has read it.
      writeInParts(response, Buffer.from(text), (written) => {
        sentBytes += written
        this.#sentBytes += written
      })
      return response
    }) as ServerResponse["end"]
  }

  bufferedBytes(): number {
    return this.#unreadBytes + (this.#webSocket?.writableLength ?? 0)
  }

  /** On a WebSocket, the system reports only whole writes. */
  sentBytes(): number {
    const socket = this.#webSocket
    return this.#sentBytes + (socket === undefined ? 0 : socket.bytesWritten - socket.writableLength)
  }

  incompleteBytes(): number {
    return this.#payloadBytes + (this.#webSocket === undefined ? 0 : this.#webSocket.bytesRead - this.#readAtPacket)
  }

  receivedBytes(): number {
    return this.#payloadsBytes + (this.#webSocket?.bytesRead ?? 0)
  }

  pauseFor(millis: number): void {
    const webSocket = webSocketOn(this.#webSocket)
    if (webSocket === undefined || webSocket.isPaused) return
    webSocket.pause()
    setTimeout(() => webSocket.resume(), millis).unref()
  }

  /** Frees in time what is not read: it outlives the connection. */
  close(): void {
    if (this.#unread.size > 0) setTimeout(() => this.#destroyUnread(), closeTimeout).unref()
  }

  /** Frees what the peer has not read. */
  discard(): void {
    this.#webSocket?.destroy()
    this.#upgrading?.destroy()
    this.#destroyUnread()
  }

  #destroyUnread(): void {
    for (const response of this.#unread) response.destroy()
  }

  #trackPayload(request: IncomingMessage): void {
    let packets = 1
    request.on("data", (chunk: Buffer | string) => {
      const bytes = Buffer.byteLength(chunk)
      this.#payloadsBytes += bytes
      // Engine.IO drops a payload that is too large.
      const isDropped = this.#payloadBytes > this.#listener.maxPayloadBytes()
      this.#payloadBytes = isDropped ? 0 : this.#payloadBytes + bytes + chunkOverhead
      packets += countSeparators(String(chunk))
      if (packets > maxPacketsPerPayload) this.#listener.onViolation("too_many_packets")
      else this.#listener.onBytesReceived()
    })
    request.once("close", () => {
      this.#payloadBytes = 0
      this.#listener.onBytesReceived()
    })
  }

  /** Counts bytes as they arrive: `ws` holds the bytes of an incomplete message. */
  #countBytes(socket: Socket): void {
    const { bytesRead } = socket
    socket.on("data", () => {
      const isExceeded = !this.#listener.isTrusted() && socket.bytesRead - bytesRead > maxUnauthenticatedBytes
      if (isExceeded) this.#listener.onViolation("unauthenticated_bytes_exceeded")
      else this.#listener.onBytesReceived()
    })
  }
}
