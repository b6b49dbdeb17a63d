import { isUtf8 } from "node:buffer"
import { closeCodes, isCloseCode, maxControlBytes, opcodes } from "./frames.ts"
import { unmask } from "./unmask.ts"

const finalBit = 0x80
const reservedBits = 0x70
const opcodeBits = 0x0f
const maskBit = 0x80
const length16 = 126
const length64 = 127

const maskBytes = 4

/** Memory of a part of a message beside its bytes: each read of the network is an object. */
const partOverhead = 256

/** Receives what a client sent. */
export interface FrameHandler {
  /** False once nothing more has to be read. */
  readonly isReading: () => boolean
  /** The largest message in bytes. */
  readonly maxMessageBytes: () => number
  readonly onMessage: (payload: Buffer, isText: boolean) => void
  readonly onPing: (payload: Buffer) => void
  readonly onPong: () => void
  /** The peer closes the connection; `code` is {@link closeCodes.none} when it gives none. */
  readonly onCloseFrame: (code: number) => void
  /** The peer violates the protocol; `code` is the reason for a close frame. */
  readonly onViolation: (code: number) => void
}

/** The payload of a frame that has arrived in part. */
interface PartialPayload {
  readonly head: number
  readonly mask: Buffer
  readonly parts: Array<Buffer>
  length: number
  missing: number
}

/** A message of several frames. */
interface FragmentedMessage {
  readonly opcode: number
  readonly parts: Array<Buffer>
  length: number
}

const join = (parts: ReadonlyArray<Buffer>, length: number): Buffer =>
  parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, length)

/** Reads the frames of a client (RFC 6455 §5), and unmasks them in place. */
export class WebSocketReader {
  readonly #handler: FrameHandler
  /** The begin of a frame whose header has not arrived in full. */
  #head: Buffer | undefined
  #payload: PartialPayload | undefined
  #message: FragmentedMessage | undefined

  constructor(handler: FrameHandler) {
    this.#handler = handler
  }

  /** Approximate memory of the message that has arrived in part. */
  incompleteBytes(): number {
    const { length: partial = 0, parts = [] } = this.#payload ?? {}
    const { length: fragmented = 0, parts: fragments = [] } = this.#message ?? {}
    return (this.#head?.length ?? 0) + partial + fragmented + (parts.length + fragments.length) * partOverhead
  }

  /** Takes the next bytes of the connection. */
  read(chunk: Buffer): void {
    const bytes = this.#head === undefined ? chunk : Buffer.concat([this.#head, chunk])
    this.#head = undefined
    let at = 0
    while (at < bytes.length && this.#handler.isReading()) {
      at = this.#payload === undefined ? this.#readFrame(bytes, at) : this.#readPayload(this.#payload, bytes, at)
    }
  }

  /** Reads the frame at `at`, and returns the index after what could be read. */
  #readFrame(bytes: Buffer, at: number): number {
    const head = bytes[at] ?? 0
    const mark = bytes[at + 1]
    if (mark === undefined) return this.#keepHead(bytes, at)
    const violation = this.#headViolation(head, mark)
    if (violation !== undefined) return this.#fail(violation, bytes)
    const shortLength = mark & ~maskBit
    const maskAt = at + (shortLength < length16 ? 2 : shortLength === length16 ? 4 : 10)
    const from = maskAt + maskBytes
    if (from > bytes.length) return this.#keepHead(bytes, at)
    const length = readLength(bytes, at + 2, shortLength)
    if (length + (this.#message?.length ?? 0) > this.#handler.maxMessageBytes()) {
      return this.#fail(closeCodes.tooBig, bytes)
    }
    const to = from + length
    if (to <= bytes.length) {
      unmask(bytes, from, to, bytes, maskAt, 0)
      this.#onFrame(head, bytes.subarray(from, to))
      return to
    }
    const mask = Buffer.from(bytes.subarray(maskAt, from))
    this.#payload = { head, mask, parts: [], length: 0, missing: length }
    return from === bytes.length ? from : this.#readPayload(this.#payload, bytes, from)
  }

  #readPayload(payload: PartialPayload, bytes: Buffer, at: number): number {
    const to = Math.min(bytes.length, at + payload.missing)
    unmask(bytes, at, to, payload.mask, 0, payload.length)
    payload.parts.push(bytes.subarray(at, to))
    payload.length += to - at
    payload.missing -= to - at
    if (payload.missing === 0) {
      this.#payload = undefined
      this.#onFrame(payload.head, join(payload.parts, payload.length))
    }
    return to
  }

  #headViolation(head: number, mark: number): number | undefined {
    const opcode = head & opcodeBits
    if ((head & reservedBits) !== 0 || (mark & maskBit) === 0) return closeCodes.protocolError
    switch (opcode) {
      case opcodes.continuation:
        return this.#message === undefined ? closeCodes.protocolError : undefined
      case opcodes.text:
      case opcodes.binary:
        return this.#message === undefined ? undefined : closeCodes.protocolError
      case opcodes.close:
      case opcodes.ping:
      case opcodes.pong: {
        const isWhole = (head & finalBit) !== 0 && (mark & ~maskBit) <= maxControlBytes
        return isWhole ? undefined : closeCodes.protocolError
      }
      default:
        return closeCodes.protocolError
    }
  }

  #onFrame(head: number, payload: Buffer): void {
    const opcode = head & opcodeBits
    const isFinal = (head & finalBit) !== 0
    switch (opcode) {
      case opcodes.close:
        return this.#onClose(payload)
      case opcodes.ping:
        return this.#handler.onPing(payload)
      case opcodes.pong:
        return this.#handler.onPong()
    }
    const message = this.#message
    if (message === undefined) {
      if (isFinal) this.#onMessage(opcode, payload)
      else this.#message = { opcode, parts: [payload], length: payload.length }
      return
    }
    message.parts.push(payload)
    message.length += payload.length
    if (!isFinal) return
    this.#message = undefined
    this.#onMessage(message.opcode, join(message.parts, message.length))
  }

  #onMessage(opcode: number, payload: Buffer): void {
    const isText = opcode === opcodes.text
    if (isText && !isUtf8(payload)) this.#handler.onViolation(closeCodes.invalidText)
    else this.#handler.onMessage(payload, isText)
  }

  #onClose(payload: Buffer): void {
    if (payload.length === 0) return this.#handler.onCloseFrame(closeCodes.none)
    const code = payload.length === 1 ? 0 : payload.readUInt16BE(0)
    if (!isCloseCode(code)) return this.#handler.onViolation(closeCodes.protocolError)
    if (!isUtf8(payload.subarray(2))) return this.#handler.onViolation(closeCodes.invalidText)
    return this.#handler.onCloseFrame(code)
  }

  #keepHead(bytes: Buffer, at: number): number {
    // A copy: the rest of the chunk is not needed any more.
    this.#head = Buffer.from(bytes.subarray(at))
    return bytes.length
  }

  #fail(code: number, bytes: Buffer): number {
    this.#handler.onViolation(code)
    return bytes.length
  }
}

/** The length of a payload, from the index after the second byte of the frame. */
const readLength = (bytes: Buffer, at: number, shortLength: number): number => {
  if (shortLength < length16) return shortLength
  if (shortLength < length64) return bytes.readUInt16BE(at)
  return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)
}
