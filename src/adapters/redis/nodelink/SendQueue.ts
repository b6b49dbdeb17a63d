import { unavailable } from "../../../domain/model/ProtocolError.ts"
import { ByteBudget } from "./ByteBudget.ts"
import type { LinkDiagnostics } from "./LinkDiagnostics.ts"
import {
  type Content,
  encodeFields,
  firstFragment,
  fragmentOverhead,
  frameKinds,
  frameOverhead,
  lastFragment,
  maxContentBytes,
  maxFragmentBytes,
  maxNodeMessageBytes,
  MessageWriter,
  toBytes
} from "./messageFormat.ts"

/** Maximum bytes of queued bodies for one node: several messages of the maximum size. */
export const maxQueuedBytes = 64 * 1024 * 1024

/**
 * Maximum unacknowledged bytes before fragments, and before all frames, wait. Redis disconnects a subscriber with 8 MB of
 * output by default, which is far above.
 */
const fragmentWindow = 1024 * 1024
const sendWindow = 2 * fragmentWindow

/** Received bytes after which an acknowledgement is sent even without other frames. */
const acknowledgeThreshold = fragmentWindow / 4

const maxSpareBuffers = (2 * sendWindow) / maxNodeMessageBytes

/** Reuses message buffers: an allocation costs more than the copy. */
export class BufferPool {
  readonly #spare: Array<Buffer> = []
  acquire(): Buffer {
    return this.#spare.pop() ?? Buffer.allocUnsafeSlow(maxNodeMessageBytes)
  }
  release({ buffer }: Buffer): void {
    if (this.#spare.length < maxSpareBuffers) this.#spare.push(Buffer.from(buffer))
  }
}

/** A frame in its lane: the fields are sent first, then the text. */
export interface QueuedFrame {
  readonly lane: string
  readonly fields: Uint8Array
  readonly content: Buffer
  sentBytes: number
  /** Identifies the fragments; 0 before the first one is sent. */
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

const maxFrameBytes = ({ content, maxFieldBytes }: OutgoingFrame): number => maxFieldBytes + maxContentBytes(content)

/** The reason why a frame is neither sent nor queued. */
export const sendQueueFull = unavailable("The send queue to the other node is full")

/** What the peers of one node share. */
export interface LinkContext {
  /** The name of the node. */
  readonly node: string
  /** Counts the connections of the node. */
  generation: number
  readonly bufferPool: BufferPool
  readonly diagnostics: LinkDiagnostics
  /** Memory for the queued bodies, and for the incomplete bodies, of all nodes. */
  readonly sendBudget: ByteBudget
  readonly reassemblyBudget: ByteBudget
  /** Request ids. All peers share them, since the id of a removed peer must not return at once. */
  readonly nextId: () => number
  /** Milliseconds between two ticks. */
  readonly tickMillis: number
}

/**
 * Sends frames to one node. Frames of one event loop tick share a message. Long frames wait in lanes, one for each member
 * and each reply. Lanes are served round-robin, fragment by fragment, and each keeps its order.
 */
export class SendQueue {
  readonly #context: LinkContext
  #publish: (message: Buffer) => void
  readonly #lanes = new Map<string, Array<QueuedFrame>>()
  readonly #readyMessages: Array<Buffer> = []
  #writer: MessageWriter | undefined
  #inFlightBytes = 0
  #unreportedBytes = 0
  readonly #budget: ByteBudget
  #lastStreamId = 0
  #isFlushScheduled = false
  #closed = false
  /** The connection generation of the receiver; 0 while unknown. */
  receiverGeneration = 0

  constructor(context: LinkContext, publish: (message: Buffer) => void) {
    this.#context = context
    this.#publish = publish
    this.#budget = new ByteBudget(maxQueuedBytes, context.sendBudget)
  }

  /** Bytes of queued texts. A text counts until its last fragment is sent, since the receiver allocates all of it. */
  get queuedBytes(): number {
    return this.#budget.usedBytes
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

  sendNow(frame: OutgoingFrame): void {
    const writer = this.writerFor(maxFrameBytes(frame)).beginFrame(frame.kind)
    frame.writeFields(writer)
    writer.content(frame.content).endFrame()
  }

  /** A writer with room for a frame of at most `maxBytes`: one fragment and its fields. */
  writerFor(maxBytes: number): MessageWriter {
    this.#scheduleFlush()
    const writer = this.#writer
    if (writer !== undefined) {
      if (writer.remaining >= maxBytes + frameOverhead) return writer
      this.#finishMessage(writer)
    }
    return (this.#writer = new MessageWriter(this.#context.bufferPool.acquire()).beginMessage(this.#context.node))
  }

  enqueue(lane: string, { kind, maxFieldBytes, writeFields, content }: OutgoingFrame): QueuedFrame | "queue_full" {
    const bytes = toBytes(content)
    if (!this.#budget.reserve(bytes.length)) return "queue_full"
    const fields = encodeFields(maxFieldBytes, kind, writeFields)
    const frame: QueuedFrame = { lane, fields, content: bytes, sentBytes: 0, streamId: 0 }
    const queued = this.#lanes.get(lane)
    if (queued === undefined) this.#lanes.set(lane, [frame])
    else queued.push(frame)
    this.#scheduleFlush()
    return frame
  }

  /** Removes a frame from its lane. Returns how much of it was sent. */
  withdraw(frame: QueuedFrame): "unsent" | "partial" | "sent" {
    const lane = this.#lanes.get(frame.lane)
    const index = lane?.indexOf(frame) ?? -1
    if (lane === undefined || index < 0) return "sent"
    lane.splice(index, 1)
    if (lane.length === 0) this.#lanes.delete(frame.lane)
    this.#budget.release(frame.content.length)
    if (frame.streamId === 0) return "unsent"
    this.writerFor(16).beginFrame(frameKinds.discard).u32(frame.streamId).endFrame()
    return "partial"
  }

  withdrawLane(lane: string): void {
    for (const frame of new Set(this.#lanes.get(lane))) this.withdraw(frame)
  }

  onAcknowledged(bytes: number): void {
    this.#inFlightBytes = Math.max(0, this.#inFlightBytes - bytes)
    if (this.#lanes.size > 0) this.#scheduleFlush()
  }

  /** Bytes of the receiver arrived and must be acknowledged. */
  onReceived(bytes: number): void {
    this.#unreportedBytes += bytes
    if (this.#unreportedBytes >= acknowledgeThreshold) this.#scheduleFlush()
  }

  close(): void {
    this.#closed = true
    this.#lanes.clear()
    this.#budget.release(this.#budget.usedBytes)
  }

  /** Sends all further messages another way, after a frame that announces it to the receiver. */
  redirect(announcement: OutgoingFrame, publish: (message: Buffer) => void): void {
    this.sendNow(announcement)
    if (this.#writer !== undefined) this.#finishMessage(this.#writer)
    this.#publishReady()
    this.#publish = publish
  }

  /** Sends an acknowledgement below the threshold. */
  acknowledge(): void {
    if (this.#unreportedBytes > 0) this.writerFor(0)
  }

  /** Sends frames within the windows. */
  #flush(): void {
    if (this.#closed) return
    this.#drainLanes()
    if (this.#writer === undefined && this.#readyMessages.length === 0 && this.#unreportedBytes >= acknowledgeThreshold)
      this.writerFor(0)
    this.#isFlushScheduled = false
    if (this.#writer !== undefined) this.#finishMessage(this.#writer)
    this.#publishReady()
  }

  #publishReady(): void {
    for (const message of this.#readyMessages) this.#publish(message)
    this.#readyMessages.length = 0
  }

  #scheduleFlush(): void {
    if (this.#isFlushScheduled || this.#closed) return
    this.#isFlushScheduled = true
    setImmediate(() => this.#flush())
  }

  #finishMessage(writer: MessageWriter): void {
    const message = writer.finishMessage(this.#context.generation, this.receiverGeneration, this.#unreportedBytes)
    this.#unreportedBytes = 0
    // A message with only an acknowledgement is not acknowledged.
    if (!writer.isEmpty) this.#inFlightBytes += message.length
    this.#readyMessages.push(message)
    this.#writer = undefined
  }

  #drainLanes(): void {
    while (this.#lanes.size > 0 && this.#inFlightBytes + (this.#writer?.length ?? 0) < fragmentWindow) {
      for (const [lane, frames] of this.#lanes) {
        const [frame] = frames
        if (frame !== undefined && !this.#writeNext(frame)) frames.shift()
        // Moves the lane to the end of the round.
        this.#lanes.delete(lane)
        if (frames.length > 0) this.#lanes.set(lane, frames)
        break
      }
    }
  }

  /** Writes the next fragment of a frame, or all of a short one; true while fragments are left. */
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
      this.#budget.release(content.length)
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
    if (!hasMore) this.#budget.release(content.length)
    return hasMore
  }
}
