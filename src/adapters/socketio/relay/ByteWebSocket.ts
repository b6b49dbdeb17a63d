import type { Socket } from "node:net"
import { transports } from "engine.io"
import type { RawData } from "ws"
import { countRelayedBytes } from "../../process/gcTuning.ts"
import { asMessageData, type EnginePackets, type EngineRequest, preEncoded, readBefore } from "../internals.ts"
import { BacklogArena, minArenaBacklog } from "../connection/BacklogArena.ts"
import {
  encodeForTransport,
  type OutboundMessage,
  outboundMessageOf,
  releaseMessages
} from "../connection/OutboundMessage.ts"
import type { RelayTransport, TransportListener } from "./RelayTransport.ts"
import { takeTextFrames } from "./textFrames.ts"
import { WebSocketTraffic } from "../connection/Traffic.ts"

/** The digit by which Engine.IO marks a message. */
const messageTypeByte = 0x34

/** Longer messages pass through Engine.IO, which counts them as keepalive. */
const maxFastPathBytes = 256 * 1024

/** Bytes of short frames that wait for the end of their turn of the event loop, and that no backlog counts. */
const maxCorkedBytes = 64 * 1024

/** Messages of one connection that are handled per tick of the event loop: other connections get their turn. */
const maxMessagesPerTick = 8

/** A text frame of a WebSocket as received bytes, without the digit of Engine.IO. */
export class TextFrame {
  readonly bytes: Buffer
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

type ReceivedMessage = { readonly data: Buffer; readonly isBinary: boolean }

let tick = 0
let isScheduled = false

const eventLoopTick = (): number => {
  if (!isScheduled) {
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      tick += 1
    })
  }
  return tick
}

/** Transports with frames that wait for the end of the turn. */
let corked: Array<ByteWebSocket> = []

const uncorkAll = (): void => {
  const transports = corked
  corked = []
  for (const transport of transports) transport.uncork()
}

/** Relays bytes. Short messages bypass Engine.IO's events and buffers, which cost more than the rest of the relay. */
export class ByteWebSocket extends transports.websocket implements RelayTransport {
  readonly #webSocket: EngineRequest["websocket"]
  readonly #netSocket: Socket
  readonly traffic: WebSocketTraffic
  listener: TransportListener | undefined
  #isAdmitted = false
  /** Frames that wait for the end of the turn: one write costs less than several. */
  #corked: Array<Buffer> | undefined
  #corkedBytes = 0
  /** Frames that wait for a slow reader. */
  #arena: BacklogArena | undefined
  /** The latest write outside of the arena left much unread. */
  #isReaderSlow = false
  /** The latest tick in which messages arrived, and their number. */
  #tick = -1
  #takenThisTick = 0
  /** Messages beyond the share of their tick. */
  #deferred: Array<ReceivedMessage> | undefined

  constructor(request: EngineRequest) {
    super(request)
    this.#webSocket = request.websocket
    this.#netSocket = request.socket
    this.traffic = new WebSocketTraffic(request.websocket, request.socket, {
      isAdmitted: () => this.#isAdmitted,
      onBytesReceived: () => this.listener?.onBytesReceived(),
      onViolation: (violation) => this.onError(violation)
    })
    this.#webSocket?.removeAllListeners("message")
    this.#webSocket?.on("message", (data: RawData, isBinary: boolean) => {
      // The default binaryType of `ws` gives one Buffer.
      if (Buffer.isBuffer(data)) this.#onFrame({ data, isBinary })
    })
    readBefore(this.#webSocket, (chunk, maxBytes) => takeTextFrames(chunk, maxBytes, this.#onText))
  }

  trySend(message: OutboundMessage): boolean {
    if (!this.writable || this.#webSocket?.readyState !== 1) return false
    if (this.#corked === undefined) {
      this.#corked = []
      if (corked.push(this) === 1) process.nextTick(uncorkAll)
    }
    for (const part of message.frame()) {
      this.#corked.push(part)
      this.#corkedBytes += part.length
    }
    if (this.#corkedBytes > maxCorkedBytes) this.uncork()
    return true
  }

  /** Writes the frames that wait for the end of the turn. */
  uncork(): void {
    const frames = this.#corked ?? []
    const bytes = this.#corkedBytes
    this.#corked = undefined
    this.#corkedBytes = 0
    if (frames.length === 0 || !this.#netSocket.writable) return
    if (this.#isReaderSlow && this.traffic.bufferedBytes() > minArenaBacklog && this.#storeAndWrite(frames, bytes))
      return
    // Short frames are copied: one buffer costs less than several.
    const buffers = bytes > maxCorkedBytes || frames.length === 1 ? frames : [Buffer.concat(frames, bytes)]
    if (buffers.length > 1) this.#netSocket.cork()
    for (const buffer of buffers) this.#netSocket.write(buffer, this.#onSent)
    if (buffers.length > 1) this.#netSocket.uncork()
    const buffered = this.traffic.bufferedBytes()
    this.#isReaderSlow = buffered > minArenaBacklog
    if (buffered > 0) this.listener?.onBacklogChange()
  }

  /** Writes frames that have to wait from the arena; false without memory. */
  #storeAndWrite(frames: ReadonlyArray<Buffer>, bytes: number): boolean {
    this.#arena ??= new BacklogArena()
    const stored = this.#arena.store(frames, bytes)
    if (stored === undefined) return false
    this.#netSocket.write(stored.bytes, (error) => {
      stored.release()
      this.#onSent(error)
    })
    this.listener?.onBacklogChange()
    return true
  }

  netSockets(): ReadonlyArray<Socket> {
    return [this.#netSocket]
  }

  liftSizeLimit(): void {
    this.#isAdmitted = true
  }

  /** Handles messages that arrived before the close. */
  override onClose(): void {
    for (const frame of this.#deferred?.splice(0) ?? []) this.#onMessage(frame)
    super.onClose()
  }

  /** Closes without waiting for a peer that does not read. */
  override doClose(done?: () => void): void {
    this.#webSocket?.removeAllListeners("message")
    this.uncork()
    if (this.traffic.bufferedBytes() > 0) this.traffic.discard()
    super.doClose(done)
  }

  override send(packets: EnginePackets): void {
    this.uncork()
    // Engine.IO sends the next packets when the network has taken these.
    if (packets.some((packet) => outboundMessageOf(packet)?.release !== undefined))
      this.once("drain", () => releaseMessages(packets))
    super.send(packets.map((packet) => encodeForTransport(packet, (message) => preEncoded(message.frame()))))
  }

  readonly #onSent = (error?: Error | null): void => {
    if (error) this.onError("write error", error.stack)
    else this.listener?.onBacklogChange()
  }

  readonly #onText = (data: Buffer): boolean => {
    this.#onFrame({ data, isBinary: false })
    return this.#webSocket?.readyState === 1
  }

  #onFrame(frame: ReceivedMessage): void {
    const now = eventLoopTick()
    if (this.#tick !== now) {
      this.#tick = now
      this.#takenThisTick = 0
    }
    this.#takenThisTick += 1
    if (this.#takenThisTick <= maxMessagesPerTick && this.#deferred === undefined) this.#onMessage(frame)
    else this.#defer(frame)
  }

  #onMessage({ data, isBinary }: ReceivedMessage): void {
    if (isBinary || data[0] !== messageTypeByte) this.onData(isBinary ? data : data.toString())
    else if (this.listener !== undefined && data.length <= maxFastPathBytes && this.readyState === "open") {
      this.listener.onShortMessage(data.subarray(1))
    } else this.onPacket({ type: "message", data: asMessageData(new TextFrame(data.subarray(1))) })
    countRelayedBytes(data.length)
  }

  #defer(message: ReceivedMessage): void {
    if (this.#deferred === undefined) {
      this.#deferred = []
      this.traffic.pause()
      setImmediate(this.#drainDeferred)
    }
    this.#deferred.push(message)
  }

  readonly #drainDeferred = (): void => {
    const deferred = this.#deferred ?? []
    for (const frame of deferred.splice(0, maxMessagesPerTick)) this.#onMessage(frame)
    if (deferred.length > 0) {
      setImmediate(this.#drainDeferred)
      return
    }
    this.#deferred = undefined
    this.traffic.resume()
  }
}
