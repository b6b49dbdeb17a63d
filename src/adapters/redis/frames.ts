/** What a frame between two nodes is about. The numbers are the wire's. */
export const kinds = {
  request: 1,
  tell: 2,
  forget: 3,
  answer: 4,
  closed: 5,
  noAnswer: 6,
  refused: 7,
  /** A part of a frame that is too long for one message. */
  piece: 8,
  /** The rest of a frame in pieces will not come. */
  drop: 9,
  /** The sender has a new connection: nothing from before holds. */
  up: 10,
  /** The sender ends. */
  bye: 11,
  /** The sender has given up on the receiver: nothing between the two from before holds. */
  over: 12
} as const

/** Whether a piece is the first or the last of its frame; a bit each. */
export const firstPiece = 1
export const lastPiece = 2

/** What a message starts with: who are we, and which version of this is it. */
const magic = 0xa2c1

/** Most bytes of the name of a node. */
const mostNameBytes = 255

/** Most bytes that {@link FrameWriter.open} writes. */
const headerBytes = 2 + 4 + 4 + 4 + 1 + mostNameBytes

/** Bytes that a frame has beside its fields and its text: its length and its kind. */
export const frameOverhead = 4 + 1

/** Bytes that a string takes at most, with its length. */
export const boundOf = (text: string): number => 4 + text.length * 3

const utf8 = new TextEncoder()

/** A text as it is at hand: as such, or in UTF-8. */
export type Content = string | Buffer

/** A text in UTF-8. */
export const bytesOf = (content: Content): Buffer =>
  typeof content === "string" ? Buffer.from(content) : content

/** Bytes that a text takes at most. */
export const boundOfContent = (content: Content): number =>
  typeof content === "string" ? content.length * 3 : content.length

/** Writes one message, which is a header and frames, into a buffer that it is given. */
export class FrameWriter {
  readonly buffer: Buffer
  #at = 0
  #frame = 0

  constructor(buffer: Buffer) {
    this.buffer = buffer
  }

  get length(): number {
    return this.#at
  }

  /** How many bytes are left. */
  get room(): number {
    return this.buffer.length - this.#at
  }

  /** True when there is nothing but a header. */
  get isEmpty(): boolean {
    return this.#frame === 0
  }

  /** Begins a message; what is not known yet is filled in by {@link seal}. */
  open(name: string): this {
    this.#at = 14
    this.#frame = 0
    const bytes = this.buffer.write(name, this.#at + 1, mostNameBytes)
    this.buffer.writeUInt8(bytes, this.#at)
    this.#at += 1 + bytes
    return this
  }

  /** The finished message. `taken` is how many bytes from the receiver have arrived since the last one. */
  seal(from: number, to: number, taken: number): Buffer {
    this.buffer.writeUInt16BE(magic, 0)
    this.buffer.writeUInt32BE(from, 2)
    this.buffer.writeUInt32BE(to, 6)
    this.buffer.writeUInt32BE(taken, 10)
    return this.buffer.subarray(0, this.#at)
  }

  begin(kind: number): this {
    this.#frame = this.#at
    this.#at += 4
    return this.u8(kind)
  }

  /** Ends a frame: its length is known now. */
  end(): void {
    this.buffer.writeUInt32BE(this.#at - this.#frame - 4, this.#frame)
  }

  u8(value: number): this {
    this.#at = this.buffer.writeUInt8(value, this.#at)
    return this
  }

  u32(value: number): this {
    this.#at = this.buffer.writeUInt32BE(value, this.#at)
    return this
  }

  f64(value: number): this {
    this.#at = this.buffer.writeDoubleBE(value, this.#at)
    return this
  }

  /** A string and its length. */
  string(text: string): this {
    const bytes = this.buffer.write(text, this.#at + 4)
    this.buffer.writeUInt32BE(bytes, this.#at)
    this.#at += 4 + bytes
    return this
  }

  bytes(bytes: Uint8Array): this {
    this.buffer.set(bytes, this.#at)
    this.#at += bytes.length
    return this
  }

  /** The rest of a frame. */
  content(content: Content): this {
    if (typeof content !== "string") return this.bytes(content)
    this.#at += this.buffer.write(content, this.#at)
    return this
  }
}

/** Writes the fields of one frame, its kind first, without a message around it. */
export const fieldsOf = (
  bound: number,
  kind: number,
  write: (writer: FrameWriter) => unknown
): Uint8Array => {
  const writer = new FrameWriter(Buffer.allocUnsafe(bound + 1))
  writer.u8(kind)
  write(writer)
  return writer.buffer.subarray(0, writer.length)
}

/** Reads what {@link FrameWriter} wrote. What is not there reads as nothing, and {@link failed} says so. */
export class FrameReader {
  readonly buffer: Buffer
  #at: number
  #end: number
  #failed = false

  constructor(buffer: Buffer, from = 0, end = buffer.length) {
    this.buffer = buffer
    this.#at = from
    this.#end = end
  }

  get failed(): boolean {
    return this.#failed
  }

  get at(): number {
    return this.#at
  }

  get left(): number {
    return this.#end - this.#at
  }

  #take(bytes: number): number {
    const at = this.#at
    if (bytes > this.#end - at) {
      this.#failed = true
      this.#at = this.#end
      return -1
    }
    this.#at = at + bytes
    return at
  }

  u8(): number {
    const at = this.#take(1)
    return at < 0 ? 0 : this.buffer.readUInt8(at)
  }

  u16(): number {
    const at = this.#take(2)
    return at < 0 ? 0 : this.buffer.readUInt16BE(at)
  }

  u32(): number {
    const at = this.#take(4)
    return at < 0 ? 0 : this.buffer.readUInt32BE(at)
  }

  f64(): number {
    const at = this.#take(8)
    return at < 0 ? 0 : this.buffer.readDoubleBE(at)
  }

  /** A string of so many bytes. */
  sized(bytes: number): string {
    const at = this.#take(bytes)
    return at < 0 ? "" : this.buffer.toString("utf8", at, at + bytes)
  }

  string(): string {
    return this.sized(this.u32())
  }

  /** Everything that is left, as a part of the message. */
  rest(): Buffer {
    return this.slice(this.left)
  }

  /** The next frame, for a reader that stands behind its fields; `undefined` where it is cut short. */
  frame(): FrameReader | undefined {
    const length = this.u32()
    const at = this.#take(length)
    return at < 0 || length === 0 ? undefined : new FrameReader(this.buffer, at, at + length)
  }

  slice(bytes: number): Buffer {
    const at = this.#take(bytes)
    return at < 0 ? this.buffer.subarray(0, 0) : this.buffer.subarray(at, at + bytes)
  }
}

/** What the header of a message says. */
export interface Header {
  readonly node: string
  /** The incarnation of the sender, and the one of the receiver as the sender knows it: 0 is unknown. */
  readonly from: number
  readonly to: number
  /** How many bytes of the receiver have arrived at the sender since its last message. */
  readonly taken: number
}

/** Reads the header of a message; `undefined` when it is none of ours. */
export const readHeader = (reader: FrameReader): Header | undefined => {
  if (reader.u16() !== magic) return undefined
  const from = reader.u32()
  const to = reader.u32()
  const taken = reader.u32()
  const node = reader.sized(reader.u8())
  return reader.failed || from === 0 || node === "" ? undefined : { node, from, to, taken }
}

/** Can a node have this name? */
export const isNodeName = (name: string): boolean => name !== "" && utf8.encode(name).length <= mostNameBytes

/** Most bytes of a frame in one message of so many. */
export const mostFrameBytes = (messageBytes: number): number => messageBytes - headerBytes - frameOverhead
