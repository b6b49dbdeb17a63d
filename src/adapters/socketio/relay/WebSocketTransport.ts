import type { Socket } from "node:net"
import { maxWriteBytes } from "../../bytes/writeInParts.ts"
import { countRelayedBytes } from "../../process/gcTuning.ts"
import { Deadlines } from "../connection/Deadlines.ts"
import type { OutboundMessage } from "../connection/OutboundMessage.ts"
import { closeTimeout, maxUnauthenticatedBytes } from "../limits.ts"
import { type FrameHandler, WebSocketReader } from "../websocket/WebSocketReader.ts"
import { closeCodes, encodeCloseFrame, encodeWebSocketFrame, opcodes } from "../websocket/frames.ts"
import type { RelayTransport, TransportListener } from "./RelayTransport.ts"
import { WriteQueue } from "./WriteQueue.ts"

/** Bytes of short frames that wait for the end of their turn of the event loop, and that no backlog counts. */
const maxCorkedBytes = 64 * 1024

/** Messages of one connection that are handled per tick of the event loop: other connections get their turn. */
const maxMessagesPerTick = 4

interface ReceivedMessage {
  readonly payload: Buffer
  readonly isText: boolean
}

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
let corked: Array<WebSocketTransport> = []

const uncorkAll = (): void => {
  const transports = corked
  corked = []
  for (const transport of transports) transport.uncork()
}

/** Transports whose peers have to agree to a close. */
const lingering = new Deadlines<WebSocketTransport>(closeTimeout, (transport) => transport.destroy())

const ownerKey = Symbol("transport")

type OwnedSocket = Socket & { [ownerKey]?: WebSocketTransport }

// Functions of all sockets: closures of each would be a good part of the memory of an idle connection.
function onData(this: OwnedSocket, chunk: Buffer): void {
  this[ownerKey]?.onData(chunk)
}
function onEnd(this: OwnedSocket): void {
  this[ownerKey]?.onEnd()
}
function onClose(this: OwnedSocket): void {
  this[ownerKey]?.onClose()
}
/** Node closes the socket after an error. */
const onError = (): void => undefined

/** Carries packets in the frames of a WebSocket, on the socket of the request that opened it. */
export class WebSocketTransport implements RelayTransport, FrameHandler {
  readonly #socket: Socket
  readonly #maxMessageBytes: number
  readonly #reader = new WebSocketReader(this)
  listener: TransportListener
  /** `closing` once a close frame is sent, and `ended` when nothing more is read. */
  #state: "open" | "closing" | "ended" = "open"
  #isReported = false
  #arrivedBytes = 0
  /** Frames that wait for the end of the turn: one write costs less than several. */
  #corked: Array<Buffer> | undefined
  #corkedBytes = 0
  /** Bytes of the write that the network has not taken in full. */
  #writingBytes = 0
  #sentBytes = 0
  #queue: WriteQueue | undefined
  /** The latest tick in which messages arrived, and their number. */
  #tick = -1
  #takenThisTick = 0
  /** Messages beyond the share of their tick. */
  #deferred: Array<ReceivedMessage> | undefined
  /** Reading stops while this is positive. */
  #pauseCount = 0
  /** {@link pauseFor} has stopped reading. */
  #isPaused = false

  /** `response` accepts the WebSocket. Bytes after the request are given to {@link onData}. */
  constructor(socket: Socket, response: Buffer, listener: TransportListener, maxMessageBytes: number) {
    this.#socket = socket
    this.#maxMessageBytes = maxMessageBytes
    this.listener = listener
    const owned: OwnedSocket = socket
    owned[ownerKey] = this
    socket.setTimeout(0)
    socket.setNoDelay()
    socket.on("data", onData)
    socket.on("end", onEnd)
    socket.on("close", onClose)
    socket.on("error", onError)
    this.#cork(response)
  }

  send(message: OutboundMessage): void {
    message.queue.onDequeued(message.size)
    for (const part of message.frame()) this.#cork(part)
  }

  sendPacket(packet: string): void {
    this.#cork(encodeWebSocketFrame(opcodes.text, packet))
  }

  close(_discard: boolean, onClosed: () => void): void {
    this.#isReported = true
    this.#deferred = undefined
    this.#sendClose(closeCodes.none)
    onClosed()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Writes the frames that wait for the end of the turn. */
  uncork(): void {
    const frames = this.#corked ?? []
    const bytes = this.#corkedBytes
    this.#corked = undefined
    this.#corkedBytes = 0
    if (frames.length === 0 || !this.#socket.writable) return
    if (this.#writingBytes > 0 || bytes > maxWriteBytes) {
      this.#queue ??= new WriteQueue()
      this.#queue.push(frames, bytes)
      if (this.#writingBytes === 0) this.#writingBytes = this.#queue.writeNext(this.#socket, this.#onWritten)
    } else {
      const [only] = frames
      // Short frames are copied: one buffer costs less than several.
      this.#socket.write(frames.length === 1 && only ? only : Buffer.concat(frames, bytes), this.#onWritten)
      this.#writingBytes = this.#socket.writableLength
      this.#sentBytes += bytes - this.#writingBytes
      // Mostly the network has taken them at once: no backlog has changed.
      if (this.#writingBytes === 0) return
    }
    this.listener.onBacklogChange()
  }

  bufferedBytes(): number {
    return this.#writingBytes + (this.#queue?.bytes ?? 0)
  }

  sentBytes(): number {
    return this.#sentBytes
  }

  incompleteBytes(): number {
    return this.#reader.incompleteBytes()
  }

  receivedBytes(): number {
    return this.#socket.bytesRead
  }

  pauseFor(millis: number): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.#pause()
    setTimeout(() => {
      this.#isPaused = false
      this.#resume()
    }, millis).unref()
  }

  isReading(): boolean {
    return this.#state !== "ended"
  }

  maxMessageBytes(): number {
    return this.#maxMessageBytes
  }

  onMessage(payload: Buffer, isText: boolean): void {
    if (this.#state !== "open") return
    const now = eventLoopTick()
    this.#takenThisTick = this.#tick === now ? this.#takenThisTick + 1 : 1
    this.#tick = now
    if (this.#takenThisTick <= maxMessagesPerTick && this.#deferred === undefined) this.#handle({ payload, isText })
    else this.#defer({ payload, isText })
  }

  onPing(payload: Buffer): void {
    if (this.#state !== "open") return
    this.listener.onControlFrame()
    this.#cork(encodeWebSocketFrame(opcodes.pong, payload))
  }

  onPong(): void {
    this.listener.onControlFrame()
  }

  onCloseFrame(code: number): void {
    this.#end(code, "transport_closed")
  }

  onViolation(code: number): void {
    this.#end(code, "transport_error")
  }

  onData(chunk: Buffer): void {
    if (!this.listener.isAdmitted && this.#state === "open") {
      this.#arrivedBytes += chunk.length
      if (this.#arrivedBytes > maxUnauthenticatedBytes) {
        return this.#end(closeCodes.tooBig, "unauthenticated_bytes_exceeded")
      }
    }
    this.#reader.read(chunk)
    return this.listener.onBytesReceived()
  }

  /** The peer sends nothing more. */
  onEnd(): void {
    this.#end(closeCodes.none, "transport_closed")
  }

  onClose(): void {
    lingering.stop(this)
    this.#state = "ended"
    this.#queue?.clear()
    this.#report("transport_closed")
  }

  #cork(frame: Buffer): void {
    if (this.#corked === undefined) {
      this.#corked = []
      if (corked.push(this) === 1) process.nextTick(uncorkAll)
    }
    this.#corked.push(frame)
    this.#corkedBytes += frame.length
    if (this.#corkedBytes > maxCorkedBytes) this.uncork()
  }

  readonly #onWritten = (error?: Error | null): void => {
    // Bytes that were taken at once are counted, and others may wait by now.
    if (error || this.#writingBytes === 0 || this.#socket.writableLength > 0) return
    this.#sentBytes += this.#writingBytes
    this.#writingBytes = 0
    if (this.#queue === undefined || this.#queue.bytes === 0) this.#queue = undefined
    else this.#writingBytes = this.#queue.writeNext(this.#socket, this.#onWritten)
    this.listener.onBacklogChange()
  }

  /** Begins the close handshake, without waiting for a peer that does not read. */
  #sendClose(code: number): void {
    if (this.#state !== "open") return
    this.#state = "closing"
    this.#cork(encodeCloseFrame(code))
    const hadBacklog = this.bufferedBytes() > 0
    this.uncork()
    if (hadBacklog) this.destroy()
    else lingering.start(this)
  }

  /** Ends the connection: the peer has closed it, or violates the protocol. */
  #end(code: number, reason: string): void {
    if (this.#state === "ended") return
    for (const message of this.#deferred?.splice(0) ?? []) this.#handle(message)
    this.#sendClose(code)
    this.#state = "ended"
    this.#socket.end()
    this.#report(reason)
  }

  #report(reason: string): void {
    if (this.#isReported) return
    this.#isReported = true
    this.listener.onTransportClosed(this, reason)
  }

  #handle({ isText, payload }: ReceivedMessage): void {
    if (this.#state !== "open") return
    if (isText) this.listener.onPacket(payload)
    else this.listener.onBinary()
    countRelayedBytes(payload.length)
  }

  #defer(message: ReceivedMessage): void {
    if (this.#deferred === undefined) {
      this.#deferred = []
      this.#pause()
      setImmediate(() => this.#drainDeferred())
    }
    this.#deferred.push(message)
  }

  #drainDeferred(): void {
    const deferred = this.#deferred ?? []
    for (const message of deferred.splice(0, maxMessagesPerTick)) this.#handle(message)
    if (deferred.length > 0) setImmediate(() => this.#drainDeferred())
    else {
      this.#deferred = undefined
      this.#resume()
    }
  }

  #pause(): void {
    this.#pauseCount += 1
    if (this.#pauseCount === 1) this.#socket.pause()
  }

  #resume(): void {
    this.#pauseCount -= 1
    if (this.#pauseCount === 0) this.#socket.resume()
  }
}
