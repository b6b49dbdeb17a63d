/** Frame kinds of the wire format. */
export const frameKinds = {
  request: 1,
  notify: 2,
  cancel: 3,
  reply: 4,
  linkClosed: 5,
  timedOut: 6,
  rejected: 7,
  /** A fragment of a frame that is too long for one message. */
  fragment: 8,
  /** The sender has withdrawn a fragmented frame. */
  discard: 9,
  /** The sender has a new connection: earlier requests have ended. */
  connected: 10,
  /** The sender shuts down. */
  leaving: 11,
  /** The sender has removed the receiver: requests between both have ended. */
  reset: 12,
  /** The address at which the sender takes a direct connection. */
  address: 13,
  /** The next messages of the sender arrive over the direct connection with this id. */
  redirected: 14
} as const

/** Bit flags of a fragment. */
export const firstFragment = 1
export const lastFragment = 2

/** First bytes of a message: they identify the format and its version. */
const magic = 0xa2c1

/** Maximum bytes of a node name. */
const maxNameBytes = 255

const maxHeaderBytes = 2 + 4 + 4 + 4 + 1 + maxNameBytes

/** Bytes of the length and the kind of a frame. */
export const frameOverhead = 4 + 1

/** Bytes of stream id, flags, length of the fields and length of the text. */
export const fragmentOverhead = 4 + 1 + 4 + 4

/** Maximum bytes of one message. Longer messages are not faster and delay short ones. */
export const maxNodeMessageBytes = 128 * 1024

/** Maximum bytes of the text in one fragment. */
export const maxFragmentBytes = 120 * 1024

/** Maximum bytes of the fields of a fragmented frame: its first fragment must fit a message. */
export const maxFieldBytes = maxNodeMessageBytes - maxHeaderBytes - frameOverhead - fragmentOverhead - maxFragmentBytes

/** Maximum bytes of a string and its length: 3 bytes for each UTF-16 unit. */
export const maxStringBytes = (text: string): number => 4 + text.length * 3

export type Content = string | Buffer

export const toBytes = (content: Content): Buffer => (typeof content === "string" ? Buffer.from(content) : content)

export const maxContentBytes = (content: Content): number =>
  typeof content === "string" ? content.length * 3 : content.length

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

  get remaining(): number {
    return this.buffer.length - this.#offset
  }

  get isEmpty(): boolean {
    return this.#frameStart === 0
  }

  /** Begins a message; {@link finishMessage} fills in the rest of the header. */
  beginMessage(node: string): this {
    this.#offset = 14
    this.#frameStart = 0
    const bytes = this.buffer.write(node, this.#offset + 1, maxNameBytes)
    this.buffer.writeUInt8(bytes, this.#offset)
    this.#offset += 1 + bytes
    return this
  }

  /** Returns the message. `acknowledgedBytes` counts the bytes received since the last one. */
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

  content(content: Content): this {
    if (typeof content !== "string") return this.bytes(content)
    this.#offset += this.buffer.write(content, this.#offset)
    return this
  }
}

export const encodeFields = (maxBytes: number, kind: number, write: (writer: MessageWriter) => unknown): Uint8Array => {
  const writer = new MessageWriter(Buffer.allocUnsafe(maxBytes + 1))
  writer.u8(kind)
  write(writer)
  return writer.buffer.subarray(0, writer.length)
}

/** Reads a message. Missing values read as 0 or empty, and {@link isTruncated} is true from then on. */
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

  stringOfLength(bytes: number): string {
    const at = this.#advance(bytes)
    return at < 0 ? "" : this.buffer.toString("utf8", at, at + bytes)
  }

  string(): string {
    return this.stringOfLength(this.u32())
  }

  /** The unread bytes, as a view. */
  rest(): Buffer {
    return this.slice(this.remaining)
  }

  /** A reader of the next frame; `undefined` when the frame is truncated. */
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

/** Decodes the header of a message; `undefined` when it is invalid. */
export const decodeHeader = (reader: MessageReader) => {
  if (reader.u16() !== magic) return undefined
  /** The connection generation of the sender, and that of the receiver as the sender knows it: 0 while unknown. */
  const senderGeneration = reader.u32()
  const receiverGeneration = reader.u32()
  /** Bytes of the receiver that have arrived at the sender since its last message. */
  const acknowledgedBytes = reader.u32()
  const node = reader.stringOfLength(reader.u8())
  return reader.isTruncated || senderGeneration === 0 || node === ""
    ? undefined
    : { node, senderGeneration, receiverGeneration, acknowledgedBytes }
}

export const isValidNodeName = (name: string): boolean => name !== "" && Buffer.byteLength(name) <= maxNameBytes
