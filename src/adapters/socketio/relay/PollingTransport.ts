import { isUtf8 } from "node:buffer"
import type { IncomingMessage, ServerResponse } from "node:http"
import { writeInParts } from "../../bytes/writeInParts.ts"
import { BacklogArena, minArenaBacklog } from "../connection/BacklogArena.ts"
import { OutboundMessage } from "../connection/OutboundMessage.ts"
import { rejectRequest } from "../gate.ts"
import { closeTimeout, maxPollResponseBytes, maxUnauthenticatedBytes } from "../limits.ts"
import { engineErrors } from "../engineErrors.ts"
import { joinPayload, maxPacketsPerPayload, splitPayload } from "./payloads.ts"
import type { RelayTransport, TransportListener } from "./RelayTransport.ts"

/** Memory of a part of a payload beside its bytes. */
const chunkOverhead = 64

/** First character of a binary packet in a payload, whose data is base64. */
const binaryByte = 0x62

const closePacket = "1"
const closePayload = Buffer.from(closePacket)
const noopPacket = "6"

type Packet = OutboundMessage | string

/** Carries packets in the requests and responses of long polling. */
export class PollingTransport implements RelayTransport {
  listener: TransportListener
  readonly #maxPayloadBytes: number
  /** The response that the peer waits for. */
  #poll: ServerResponse | undefined
  /** The payload that arrives. */
  #payload: IncomingMessage | undefined
  #payloadBytes = 0
  #receivedBytes = 0
  readonly #queue: Array<Packet> = []
  #queuedBytes = 0
  #arena: BacklogArena | undefined
  #isFlushing = false
  /** Responses that the network has not taken. A peer may poll on another connection before it has read a response. */
  readonly #unread = new Set<ServerResponse>()
  #unreadBytes = 0
  #sentBytes = 0
  /** Runs when the close has been sent. */
  #onClosed: (() => void) | undefined
  #isOpen = true

  constructor(listener: TransportListener, maxPayloadBytes: number) {
    this.listener = listener
    this.#maxPayloadBytes = maxPayloadBytes
  }

  send(message: OutboundMessage): void {
    this.#queuedBytes += message.size
    if (this.#poll === undefined) message.compact(this.#arenaFor())
    this.#push(message)
  }

  sendPacket(packet: string): void {
    this.#push(packet)
  }

  /** Handles a request of the connection. */
  onRequest(request: IncomingMessage, response: ServerResponse): void {
    if (request.method === "GET") this.#onPoll(response)
    else if (request.method === "POST") this.#onPayload(request, response)
    else rejectRequest(response, engineErrors.badRequest)
  }

  /** Ends the response that the peer waits for: it completes its upgrade. */
  poke(): void {
    if (this.#poll !== undefined && this.#queue.length === 0) this.#respond(this.#poll, [noopPacket])
  }

  /** Gives the packets that wait to the transport that takes over. */
  moveTo(next: RelayTransport): void {
    this.#isOpen = false
    if (this.#poll !== undefined) this.#respond(this.#poll, [noopPacket])
    for (const packet of this.#takeAll()) {
      if (typeof packet === "string") next.sendPacket(packet)
      else next.send(packet.leaveArena())
    }
    setTimeout(() => this.#destroyUnread(), closeTimeout).unref()
  }

  close(discard: boolean, onClosed: () => void): void {
    this.#isOpen = false
    this.#payload?.destroy()
    if (discard) {
      for (const packet of this.#takeAll()) if (typeof packet !== "string") packet.release?.()
      this.#destroyUnread()
    } else setTimeout(() => this.#destroyUnread(), closeTimeout).unref()
    if (this.#poll !== undefined) this.#respond(this.#poll, [...this.#takeAll(), closePacket])
    else if (!discard) {
      this.#onClosed = onClosed
      setTimeout(onClosed, closeTimeout).unref()
      return
    }
    onClosed()
  }

  bufferedBytes(): number {
    return this.#unreadBytes
  }

  sentBytes(): number {
    return this.#sentBytes
  }

  incompleteBytes(): number {
    return this.#payloadBytes
  }

  receivedBytes(): number {
    return this.#receivedBytes
  }

  pauseFor(): void {
    // A client sends the next payload after the response to the one before.
  }

  #push(packet: Packet): void {
    this.#queue.push(packet)
    if (this.#poll !== undefined && !this.#isFlushing) {
      this.#isFlushing = true
      process.nextTick(() => this.#flush())
    }
  }

  #flush(): void {
    this.#isFlushing = false
    if (this.#poll !== undefined && this.#queue.length > 0) this.#respond(this.#poll, this.#takeBatch())
  }

  /** The packets of a response of limited size, at least one. */
  #takeBatch(): ReadonlyArray<Packet> {
    let bytes = 0
    const end = this.#queue.findIndex((packet, index) => {
      bytes += packet instanceof OutboundMessage ? packet.size : 0
      return index > 0 && bytes > maxPollResponseBytes
    })
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end)
  }

  #takeAll(): ReadonlyArray<Packet> {
    return this.#queue.splice(0)
  }

  /** The arena, when much waits. */
  #arenaFor(): BacklogArena | undefined {
    if (this.#queuedBytes <= minArenaBacklog) return undefined
    this.#arena ??= new BacklogArena()
    return this.#arena
  }

  #onPoll(response: ServerResponse): void {
    if (this.#poll !== undefined) {
      this.listener.onTransportClosed(this, "transport_error")
      return rejectRequest(response, engineErrors.badRequest)
    }
    if (this.#onClosed !== undefined) {
      this.#respond(response, [...this.#takeAll(), closePacket])
      return this.#onClosed()
    }
    this.#poll = response
    response.once("close", () => {
      if (this.#poll !== response) return
      this.#poll = undefined
      this.listener.onTransportClosed(this, "transport_error")
    })
    return this.#flush()
  }

  #respond(response: ServerResponse, packets: ReadonlyArray<Packet>): void {
    this.#poll = undefined
    const body = joinPayload(packets.map((packet) => encodePacket(packet)))
    let hasMessages = false
    for (const packet of packets) {
      if (typeof packet === "string") continue
      hasMessages = true
      this.#queuedBytes -= packet.size
      packet.queue.onDequeued(packet.size)
      packet.release?.()
    }
    response.writeHead(200, {
      "Content-Type": "text/plain; charset=UTF-8",
      "Content-Length": body.length,
      "Cache-Control": "no-store"
    })
    this.#unread.add(response)
    this.#unreadBytes += body.length
    response.once("close", () => {
      this.#unread.delete(response)
      this.#unreadBytes -= body.length
      this.listener.onBacklogChange()
    })
    writeInParts(response, body, (bytes) => {
      if (hasMessages) this.#sentBytes += bytes
    })
  }

  #onPayload(request: IncomingMessage, response: ServerResponse): void {
    const isBinary = request.headers["content-type"] === "application/octet-stream"
    if (this.#payload !== undefined || isBinary) {
      this.listener.onTransportClosed(this, "transport_error")
      return rejectRequest(response, engineErrors.badRequest)
    }
    this.#payload = request
    const chunks: Array<Buffer> = []
    let length = 0
    const end = () => {
      if (this.#payload !== request) return false
      this.#payload = undefined
      this.#payloadBytes = 0
      return true
    }
    request.on("data", (chunk: Buffer) => {
      this.#receivedBytes += chunk.length
      if (this.#payload !== request) return
      length += chunk.length
      if (length > (this.listener.isAdmitted ? this.#maxPayloadBytes : maxUnauthenticatedBytes)) {
        end()
        rejectRequest(response, engineErrors.tooLarge)
      } else {
        chunks.push(chunk)
        this.#payloadBytes += chunk.length + chunkOverhead
      }
      this.listener.onBytesReceived()
    })
    request.once("end", () => {
      if (!end()) return
      const payload = Buffer.concat(chunks, length)
      this.#handlePayload(payload)
      if (this.#isOpen || payload.equals(closePayload))
        response.writeHead(200, { "Content-Type": "text/html", "Cache-Control": "no-store" }).end("ok")
      else rejectRequest(response, engineErrors.badRequest)
      this.listener.onBytesReceived()
    })
    request.once("close", () => {
      if (end()) this.listener.onTransportClosed(this, "transport_error")
    })
  }

  #handlePayload(payload: Buffer): void {
    const packets = splitPayload(payload)
    if (packets.length > maxPacketsPerPayload) return this.listener.onTransportClosed(this, "too_many_packets")
    if (!isUtf8(payload)) return this.listener.onTransportClosed(this, "invalid_packet")
    for (const packet of packets) {
      if (packet[0] === binaryByte) this.listener.onBinary()
      else this.listener.onPacket(packet)
    }
  }

  /** Closes the connections of responses that the peer does not read: they outlive the session and hold its messages. */
  #destroyUnread(): void {
    for (const response of this.#unread) response.destroy()
  }
}

const encodePacket = (packet: Packet): ReadonlyArray<Buffer> =>
  typeof packet === "string" ? [Buffer.from(packet)] : packet.payload()
