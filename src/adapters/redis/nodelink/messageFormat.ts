/** What a frame between two nodes is about. The numbers are the wire's. */
export const frameKinds = {
  request: 1,
  notify: 2,
  cancel: 3,
  reply: 4,
  linkClosed: 5,
  timedOut: 6,
  rejected: 7,
  /** A part of a frame that is too long for one message. */
  fragment: 8,
  /** The rest of a frame in pieces will not come. */
  discard: 9,
  /** The sender has a new connection: nothing from before holds. */
  connected: 10,
  /** The sender ends. */
  leaving: 11,
  /** The sender has given up on the receiver: nothing between the two from before holds. */
  reset: 12
} as const

/** Whether a piece is the first or the last of its frame; a bit each. */
export const firstFragment = 1
export const lastFragment = 2

/** What a message starts with: who are we, and which version of this is it. */
const magic = 0xa2c1

/** Most bytes of the name of a node. */
const maxNameBytes = 255

/** Most bytes that {@link MessageWriter.beginMessage} writes. */
const maxHeaderBytes = 2 + 4 + 4 + 4 + 1 + maxNameBytes

/** Bytes that a frame has beside its fields and its text: its length and its kind. */
export const frameOverhead = 4 + 1

/** Bytes that a string takes at most, with its length. */
export const maxStringBytes = (text: string): number => 4 + text.length * 3

const utf8 = new TextEncoder()

/** A text as it is at hand: as such, or in UTF-8. */
export type Content = string | Buffer

/** A text in UTF-8. */
export const toBytes = (content: Content): Buffer =>
  typeof content === "string" ? Buffer.from(content) : content

/** Bytes that a text takes at most. */
export const maxContentBytes = (content: Content): number =>
  typeof content === "string" ? content.length * 3 : content.length

/** Writes one message, which is a header and frames, into a buffer that it is given. */
export class MessageWriter {
  readonly buffer: Buffer
  #offset = 0
  #frameStart = 0

  constructor(buffer: Buffer) {
    this.buffer = buffer
  }

  get length(): number {
    return this.#offset
  }

  /** How many bytes are left. */
  get remaining(): number {
    return this.buffer.length - this.#offset
  }

  /** True when there is nothing but a header. */
  get isEmpty(): boolean {
    return this.#frameStart === 0
  }

  /** Begins a message; what is not known yet is filled in by {@link finishMessage}. */
  beginMessage(node: string): this {
    this.#offset = 14
    this.#frameStart = 0
    const bytes = this.buffer.write(node, this.#offset + 1, maxNameBytes)
    this.buffer.writeUInt8(bytes, this.#offset)
    this.#offset += 1 + bytes
    return this
  }

  /** The finished message. `taken` is how many bytes from the receiver have arrived since the last one. */
  finishMessage(senderGeneration: number, receiverGeneration: number, acknowledgedBytes: number): Buffer {
    this.buffer.writeUInt16BE(magic, 0)
    this.buffer.writeUInt32BE(senderGeneration, 2)
    this.buffer.writeUInt32BE(receiverGeneration, 6)
    this.buffer.writeUInt32BE(acknowledgedBytes, 10)
    return this.buffer.subarray(0, this.#offset)
  }

  beginFrame(kind: number): this {
    this.#frameStart = this.#offset
    this.#offset += 4
    return this.u8(kind)
  }

  /** Ends a frame: its length is known now. */
  endFrame(): void {
    this.buffer.writeUInt32BE(this.#offset - this.#frameStart - 4, this.#frameStart)
  }

  u8(value: number): this {
    this.#offset = this.buffer.writeUInt8(value, this.#offset)
    return this
  }

  u32(value: number): this {
    this.#offset = this.buffer.writeUInt32BE(value, this.#offset)
    return this
  }

  f64(value: number): this {
    this.#offset = this.buffer.writeDoubleBE(value, this.#offset)
    return this
  }

  /** A string and its length. */
  string(text: string): this {
    const bytes = this.buffer.write(text, this.#offset + 4)
    this.buffer.writeUInt32BE(bytes, this.#offset)
    this.#offset += 4 + bytes
    return this
  }

  bytes(bytes: Uint8Array): this {
    this.buffer.set(bytes, this.#offset)
    this.#offset += bytes.length
    return this
  }

  /** The rest of a frame. */
  content(content: Content): this {
    if (typeof content !== "string") return this.bytes(content)
    this.#offset += this.buffer.write(content, this.#offset)
    return this
  }
}

/** Writes the fields of one frame, its kind first, without a message around it. */
export const encodeFields = (
  maxBytes: number,
  kind: number,
  write: (writer: MessageWriter) => unknown
): Uint8Array => {
  const writer = new MessageWriter(Buffer.allocUnsafe(maxBytes + 1))
  writer.u8(kind)
  write(writer)
  return writer.buffer.subarray(0, writer.length)
}

/** Reads what {@link MessageWriter} wrote. What is not there reads as nothing, and {@link isTruncated} says so. */
export class MessageReader {
  readonly buffer: Buffer
  #offset: number
  #end: number
  #isTruncated = false

  constructor(buffer: Buffer, start = 0, end = buffer.length) {
    this.buffer = buffer
    this.#offset = start
    this.#end = end
  }

  get isTruncated(): boolean {
    return this.#isTruncated
  }

  get remaining(): number {
    return this.#end - this.#offset
  }

  #advance(bytes: number): number {
    const at = this.#offset
    if (bytes > this.#end - at) {
      this.#isTruncated = true
      this.#offset = this.#end
      return -1
    }
    this.#offset = at + bytes
    return at
  }

  u8(): number {
    const at = this.#advance(1)
    return at < 0 ? 0 : this.buffer.readUInt8(at)
  }

  u16(): number {
    const at = this.#advance(2)
    return at < 0 ? 0 : this.buffer.readUInt16BE(at)
  }

  u32(): number {
    const at = this.#advance(4)
    return at < 0 ? 0 : this.buffer.readUInt32BE(at)
  }

  f64(): number {
    const at = this.#advance(8)
    return at < 0 ? 0 : this.buffer.readDoubleBE(at)
  }

  /** A string of so many bytes. */
  stringOfLength(bytes: number): string {
    const at = this.#advance(bytes)
    return at < 0 ? "" : this.buffer.toString("utf8", at, at + bytes)
  }

  string(): string {
    return this.stringOfLength(this.u32())
  }

  /** Everything that is left, as a part of the message. */
  rest(): Buffer {
    return this.slice(this.remaining)
  }

  /** The next frame, for a reader that stands behind its fields; `undefined` where it is cut short. */
  nextFrame(): MessageReader | undefined {
    const length = this.u32()
    const at = this.#advance(length)
    return at < 0 || length === 0 ? undefined : new MessageReader(this.buffer, at, at + length)
  }

  slice(bytes: number): Buffer {
    const at = this.#advance(bytes)
    return at < 0 ? this.buffer.subarray(0, 0) : this.buffer.subarray(at, at + bytes)
  }
}

/** What the header of a message says. */
export interface MessageHeader {
  readonly node: string
  /** The incarnation of the sender, and the one of the receiver as the sender knows it: 0 is unknown. */
  readonly senderGeneration: number
  readonly receiverGeneration: number
  /** How many bytes of the receiver have arrived at the sender since its last message. */
  readonly acknowledgedBytes: number
}

/** Reads the header of a message; `undefined` when it is none of ours. */
export const decodeHeader = (reader: MessageReader): MessageHeader | undefined => {
  if (reader.u16() !== magic) return undefined
  const senderGeneration = reader.u32()
  const receiverGeneration = reader.u32()
  const acknowledgedBytes = reader.u32()
  const node = reader.stringOfLength(reader.u8())
  return reader.isTruncated || senderGeneration === 0 || node === ""
    ? undefined
    : { node, senderGeneration, receiverGeneration, acknowledgedBytes }
}

/** Can a node have this name? */
export const isValidNodeName = (name: string): boolean =>
  name !== "" && utf8.encode(name).length <= maxNameBytes

/** Most bytes of a frame in one message of so many. */
export const maxFramePayload = (maxMessageBytes: number): number =>
  maxMessageBytes - maxHeaderBytes - frameOverhead
