import { unavailable } from "../../../domain/model/ProtocolError.ts"
import {
  type Content,
  encodeFields,
  firstFragment,
  frameKinds,
  frameOverhead,
  lastFragment,
  maxContentBytes,
  maxFramePayload,
  MessageWriter,
  toBytes
} from "./messageFormat.ts"

/** Most bytes of one message. Longer ones gain nothing, and a short one waits longer behind them. */
const maxMessageBytes = 128 * 1024

/** Most bytes of the text in one piece. */
const maxFragmentBytes = 120 * 1024

/** Bytes of a piece beside its kind, its fields and its text: stream, flags, lengths of the fields and the text. */
const fragmentOverhead = 4 + 1 + 4 + 4

/**
 * Bytes on their way to a node, that is, in the hands of Redis, before nothing in pieces is added, and before nothing
 * at all is: far below 8 MB, with which Redis lets a subscriber go unless told otherwise.
 */
const fragmentWindow = 1024 * 1024
const sendWindow = 2 * fragmentWindow

/** Bytes that have arrived after which their sender is told, though nothing else is to be said. */
const acknowledgeThreshold = fragmentWindow / 4

/** Spare buffers that are kept: as many as fill a window, twice. */
const maxSpareBuffers = (2 * sendWindow) / maxMessageBytes

/** Buffers for messages, to be used again: fresh memory costs more than writing it. */
export class BufferPool {
  readonly #spare: Array<Buffer> = []
  acquire(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(maxMessageBytes)
  }
  /** Gives a buffer back, or a part of it, that nobody reads any more. */
  release({ buffer }: Buffer): void {
    if (this.#spare.length < maxSpareBuffers) this.#spare.push(Buffer.from(buffer))
  }
}

/** A frame that waits for its turn: the fields go first, then the text. */
export interface QueuedFrame {
  readonly lane: string
  readonly fields: Uint8Array
  readonly content: Buffer
  /** How many bytes of the text have gone, and the number of the pieces once one has. */
  sentBytes: number
  streamId: number
}

/** A frame to send: its fields, then a text. */
export interface OutgoingFrame {
  readonly kind: number
  /** Upper bound of the length of the fields. */
  readonly maxFieldBytes: number
  readonly writeFields: (writer: MessageWriter) => unknown
  readonly content: Content
}

const maxFrameBytes = ({ content, maxFieldBytes }: OutgoingFrame): number =>
  maxFieldBytes + maxContentBytes(content)

/** The reason why a frame is neither sent nor queued. */
export const sendQueueFull = unavailable("Too much waits for the other node already")

/** What the outbox asks of whoever owns it. */
export interface SendQueueOptions {
  readonly node: string
  readonly bufferPool: BufferPool
  /** Most bytes of texts that may wait, of which a part may have gone. */
  readonly maxQueuedBytes: number
  readonly generation: () => number
  /** Calls {@link SendQueue.flush} once, when this turn of the event loop has ended. */
  readonly scheduleFlush: (queue: SendQueue) => void
  readonly publish: (message: Buffer) => void
}

/**
 * What goes to one node. Frames of one turn of the event loop go together in one message. Long ones wait in lanes, one
 * for each member and each answer, which take turns piece by piece, so that nobody waits for the end of somebody
 * else's; within a lane the order stays.
 */
export class SendQueue {
  readonly #options: SendQueueOptions
  readonly #lanes = new Map<string, Array<QueuedFrame>>()
  readonly #readyMessages: Array<Buffer> = []
  #writer: MessageWriter | undefined
  #inFlightBytes = 0
  #unreportedBytes = 0
  #queuedBytes = 0
  #lastStreamId = 0
  #isFlushScheduled = false
  #closed = false
  /** The incarnation of the receiver as far as it is known. */
  receiverGeneration = 0

  constructor(options: SendQueueOptions) {
    this.#options = options
  }

  /** Bytes of texts that wait; one counts until its last piece has gone, since the far end holds as much. */
  get queuedBytes(): number {
    return this.#queuedBytes
  }

  /** Sends a frame, or queues it in its lane. Returns the frame when it is queued. */
  send(lane: string, frame: OutgoingFrame): QueuedFrame | "queue_full" | undefined {
    return this.trySend([lane], frame) ? undefined : this.enqueue(lane, frame)
  }

  /** Sends a short frame unless its lanes hold queued frames or the window is full; true when it was sent. */
  trySend(lanes: ReadonlyArray<string>, frame: OutgoingFrame): boolean {
    if (this.#inFlightBytes >= sendWindow || maxFrameBytes(frame) > maxFragmentBytes) return false
    if (this.#lanes.size > 0 && lanes.some((lane) => this.#lanes.has(lane))) return false
    this.sendNow(frame)
    return true
  }

  /** Sends a short frame at once. */
  sendNow(frame: OutgoingFrame): void {
    const writer = this.writerFor(maxFrameBytes(frame)).beginFrame(frame.kind)
    frame.writeFields(writer)
    writer.content(frame.content).endFrame()
  }

  /** A writer with room for a frame of so many bytes at most: a fragment and its fields. */
  writerFor(maxBytes: number): MessageWriter {
    this.#scheduleFlush()
    const writer = this.#writer
    if (writer !== undefined) {
      if (writer.remaining >= maxBytes + frameOverhead) return writer
      this.#finishMessage(writer)
    }
    return (this.#writer = new MessageWriter(this.#options.bufferPool.acquire()).beginMessage(
      this.#options.node
    ))
  }

  /** Queues a frame in its lane. */
  enqueue(
    lane: string,
    { kind, maxFieldBytes, writeFields, content }: OutgoingFrame
  ): QueuedFrame | "queue_full" {
    const bytes = toBytes(content)
    if (this.#queuedBytes + bytes.length > this.#options.maxQueuedBytes) return "queue_full"
    const fields = encodeFields(maxFieldBytes, kind, writeFields)
    const frame: QueuedFrame = { lane, fields, content: bytes, sentBytes: 0, streamId: 0 }
    const queued = this.#lanes.get(lane)
    if (queued === undefined) this.#lanes.set(lane, [frame])
    else queued.push(frame)
    this.#queuedBytes += bytes.length
    this.#scheduleFlush()
    return frame
  }

  /** Takes a frame back; says how much of it has gone. */
  withdraw(frame: QueuedFrame): "unsent" | "begun" | "sent" {
    const lane = this.#lanes.get(frame.lane)
    const index = lane?.indexOf(frame) ?? -1
    if (lane === undefined || index < 0) return "sent"
    lane.splice(index, 1)
    if (lane.length === 0) this.#lanes.delete(frame.lane)
    this.#queuedBytes -= frame.content.length
    if (frame.streamId === 0) return "unsent"
    this.writerFor(16).beginFrame(frameKinds.discard).u32(frame.streamId).endFrame()
    return "begun"
  }

  /** Takes back everything in a lane. */
  withdrawLane(lane: string): void {
    for (const frame of new Set(this.#lanes.get(lane))) this.withdraw(frame)
  }

  /** So many bytes have arrived at the far end. */
  onAcknowledged(bytes: number): void {
    this.#inFlightBytes = Math.max(0, this.#inFlightBytes - bytes)
    if (this.#lanes.size > 0) this.#scheduleFlush()
  }

  /** So many bytes have arrived from the far end. */
  onReceived(bytes: number): void {
    this.#unreportedBytes += bytes
    if (this.#unreportedBytes >= acknowledgeThreshold) this.#scheduleFlush()
  }

  /** The far end is gone: what has not been sent goes nowhere. */
  close(): void {
    this.#closed = true
    this.#lanes.clear()
    this.#queuedBytes = 0
  }

  /** Tells the far end what has arrived from it, though little has. */
  acknowledge(): void {
    if (this.#unreportedBytes === 0) return
    this.writerFor(0)
  }

  /** Sends what there is, as far as the windows let it. */
  flush(): void {
    if (this.#closed) return
    this.#drainLanes()
    if (
      this.#writer === undefined &&
      this.#readyMessages.length === 0 &&
      this.#unreportedBytes >= acknowledgeThreshold
    )
      this.writerFor(0)
    this.#isFlushScheduled = false
    if (this.#writer !== undefined) this.#finishMessage(this.#writer)
    for (const message of this.#readyMessages) this.#options.publish(message)
    this.#readyMessages.length = 0
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled || this.#closed) return
    this.#isFlushScheduled = true
    this.#options.scheduleFlush(this)
  }

  #finishMessage(writer: MessageWriter): void {
    const message = writer.finishMessage(
      this.#options.generation(),
      this.receiverGeneration,
      this.#unreportedBytes
    )
    this.#unreportedBytes = 0
    // What only acknowledges is not acknowledged itself.
    if (!writer.isEmpty) this.#inFlightBytes += message.length
    this.#readyMessages.push(message)
    this.#writer = undefined
  }

  #drainLanes(): void {
    while (this.#lanes.size > 0 && this.#inFlightBytes + (this.#writer?.length ?? 0) < fragmentWindow) {
      for (const [lane, frames] of this.#lanes) {
        const [frame] = frames
        if (frame !== undefined && !this.#writeNext(frame)) frames.shift()
        // to the end of the row
        this.#lanes.delete(lane)
        if (frames.length > 0) this.#lanes.set(lane, frames)
        break
      }
    }
  }

  /** Writes the next piece of a frame, or all of it where it is short; false when nothing is left of it. */
  #writeNext(frame: QueuedFrame): boolean {
    const { fields, content } = frame
    const start = frame.sentBytes
    if (start === 0 && fields.length + content.length <= maxFragmentBytes) {
      const [kind = 0] = fields
      this.writerFor(fields.length + content.length)
        .beginFrame(kind)
        .bytes(fields.subarray(1))
        .bytes(content)
        .endFrame()
      this.#queuedBytes -= content.length
      return false
    }
    const isFirst = start === 0
    if (isFirst) frame.streamId = ++this.#lastStreamId
    const writer = this.writerFor(fragmentOverhead + fields.length + maxFragmentBytes)
    writer.beginFrame(frameKinds.fragment).u32(frame.streamId)
    const flags = writer.length
    writer.u8(0)
    if (isFirst) writer.u32(fields.length).bytes(fields).u32(content.length)
    frame.sentBytes = Math.min(content.length, start + maxFragmentBytes)
    writer.bytes(content.subarray(start, frame.sentBytes))
    const hasMore = frame.sentBytes < content.length
    writer.buffer.writeUInt8((isFirst ? firstFragment : 0) | (hasMore ? 0 : lastFragment), flags)
    writer.endFrame()
    if (!hasMore) this.#queuedBytes -= content.length
    return hasMore
  }
}

/** Most bytes of the fields of a frame in pieces, so that the first piece fits a message. */
export const maxFieldBytes = maxFramePayload(maxMessageBytes) - fragmentOverhead - maxFragmentBytes
