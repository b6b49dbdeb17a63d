import { Result } from "effect"
import { type Body, jsonBody } from "../../../application/ports/Body.ts"
import { MessageLink, type MessageLinkContext, type MessageQueue, type QueuedMessage } from "../../bytes/MessageLink.ts"
import { compactBytes, RawBody } from "../../bytes/RawBody.ts"
import { maxFrameHeaderBytes, opcodes, writeFrameHeader } from "../websocket/frames.ts"
import type { BacklogArena } from "./BacklogArena.ts"
import type { Traffic } from "./Traffic.ts"

/** Bodies up to this size are copied behind the header: one write costs less than two. */
const maxInlineBytes = 16 * 1024

/** The frame of a message, as one buffer or two. */
const encodeFrame = (prefix: string, tail: Buffer | undefined): ReadonlyArray<Buffer> => {
  const prefixLength = 1 + Buffer.byteLength(prefix)
  const length = prefixLength + (tail?.length ?? 0)
  const isInlined = tail !== undefined && tail.length <= maxInlineBytes
  const bytes = Buffer.allocUnsafe(maxFrameHeaderBytes + (isInlined ? length : prefixLength))
  bytes[maxFrameHeaderBytes] = 0x34
  bytes.write(prefix, maxFrameHeaderBytes + 1)
  if (isInlined) tail.copy(bytes, maxFrameHeaderBytes + prefixLength)
  const frame = bytes.subarray(writeFrameHeader(bytes, maxFrameHeaderBytes, opcodes.text, length))
  return tail === undefined || isInlined ? [frame] : [frame, tail]
}

type EncodedMessage = { readonly size: number; readonly frame: ReadonlyArray<Buffer> }

/** A message in Engine.IO's queue: a text, and after it the {@link RawBody.tail} of a forwarded body. */
export class OutboundMessage implements QueuedMessage {
  readonly #prefix: string
  #tail: Buffer | undefined
  /** In bytes. The prefix of a forwarded body is ASCII, but for an event's name. */
  readonly size: number
  readonly queue: MessageQueue
  readonly #frame: ReadonlyArray<Buffer> | undefined
  /** Frees the body, when an arena holds it: after that, the message must not be read. */
  release: (() => void) | undefined
  /** `encoded` has the size and the frame of this message, if it was encoded before. */
  constructor(prefix: string, tail: Buffer | undefined, queue: MessageQueue, encoded?: EncodedMessage) {
    this.#prefix = prefix
    this.#tail = tail
    this.#frame = encoded?.frame
    this.size = encoded?.size ?? (tail === undefined ? Buffer.byteLength(prefix) : prefix.length + tail.length)
    this.queue = queue
  }
  /** Frees the memory around the body of a message that has to wait; an arena takes the body of one for a slow reader. */
  compact(arena?: BacklogArena): this {
    if (this.#tail === undefined) return this
    const stored = arena?.store([this.#tail], this.#tail.length)
    this.#tail = stored?.bytes ?? compactBytes(this.#tail, 2)
    this.release = stored?.release
    return this
  }
  /** Takes the body out of its arena. */
  leaveArena(): this {
    if (this.#tail !== undefined && this.release !== undefined) this.#tail = Buffer.from(this.#tail)
    this.release?.()
    this.release = undefined
    return this
  }
  /** The packet for polling, whose payloads are text. */
  text(): string {
    return this.#tail === undefined ? this.#prefix : this.#prefix + this.#tail.toString("utf8")
  }
  /** The message of Engine.IO for polling, as one buffer or two. */
  payload(): ReadonlyArray<Buffer> {
    const head = Buffer.from(`4${this.#prefix}`)
    return this.#tail === undefined ? [head] : [head, this.#tail]
  }
  /** The frame for WebSocket, as one buffer or two. */
  frame(): ReadonlyArray<Buffer> {
    return this.#frame ?? encodeFrame(this.#prefix, this.#tail)
  }
}

const bodyText = (body: Body): string => Result.getOrElse(body.text(), () => "null")

const makePacket = (prefix: string, bodies: ReadonlyArray<Body>, queue: MessageQueue): OutboundMessage => {
  const [only] = bodies
  return bodies.length === 1 && only instanceof RawBody
    ? new OutboundMessage(prefix, only.tail, queue)
    : new OutboundMessage(`${prefix}${bodies.map(bodyText).join(",")}]`, undefined, queue)
}

/** An event packet that requests an acknowledgement. */
export const makeRequestPacket = (namespace: string, id: number, event: string, body: Body, queue: MessageQueue) =>
  makePacket(`2${namespace},${id}[${JSON.stringify(event)},`, [body], queue)

/** The latest short notification: the members of an office get the same one, which is encoded once. */
let latest: EncodedMessage & {
  readonly namespace: string
  readonly event: string
  readonly body: Body
  readonly text: string
} = { namespace: "", event: "", body: jsonBody(null), text: "", size: 0, frame: [] }

/** An event packet without an acknowledgement. */
export const makeNotificationPacket = (namespace: string, event: string, body: Body, queue: MessageQueue) => {
  if (latest.body !== body || latest.event !== event || latest.namespace !== namespace) {
    const packet = makePacket(`2${namespace},[${JSON.stringify(event)},`, [body], queue)
    if (body instanceof RawBody || packet.size > maxInlineBytes) return packet
    latest = { namespace, event, body, text: packet.text(), size: packet.size, frame: packet.frame() }
  }
  return new OutboundMessage(latest.text, undefined, queue, latest)
}

export const makeAckPacket = (namespace: string, id: number, values: ReadonlyArray<Body>, queue: MessageQueue) =>
  makePacket(`3${namespace},${id}[`, values, queue)

/** What the links of one Server share. */
export interface ServerLinkContext extends MessageLinkContext {
  readonly namespace: string
}

export interface LinkConnection {
  readonly traffic: Traffic
  readonly write: (message: OutboundMessage, link: ServerLink) => void
  /** `discard` drops what the peer has not read. */
  readonly closeConnection: (discard: boolean) => void
}

/** The Server's end of a link over Socket.IO. */
export class ServerLink extends MessageLink<OutboundMessage> {
  readonly #namespace: string
  readonly #connection: LinkConnection

  constructor(id: string, connection: LinkConnection, context: ServerLinkContext) {
    super(id, context)
    this.#namespace = context.namespace
    this.#connection = connection
  }

  sentBytes(): number {
    return this.#connection.traffic.sentBytes()
  }

  pauseReading(millis: number): void {
    this.#connection.traffic.pauseFor(millis)
  }

  protected bufferedBytes(): number {
    return this.#connection.traffic.bufferedBytes()
  }

  protected closeConnection(discard: boolean): void {
    this.#connection.closeConnection(discard)
  }

  protected write(message: OutboundMessage): void {
    this.#connection.write(message, this)
  }

  protected encodeEvent(id: number | undefined, event: string, body: Body): OutboundMessage {
    return id === undefined
      ? makeNotificationPacket(this.#namespace, event, body, this)
      : makeRequestPacket(this.#namespace, id, event, body, this)
  }

  protected encodeReply(id: number, values: ReadonlyArray<Body>): OutboundMessage {
    return makeAckPacket(this.#namespace, id, values, this)
  }
}
