/** A frame of a client (RFC 6455 §5.2), with what the protocol forbids on request. */
export interface ClientFrame {
  readonly opcode: number
  readonly payload?: Uint8Array | string
  /** True by default. */
  readonly isFinal?: boolean
  readonly reserved?: number
  /** `undefined` leaves the payload unmasked. */
  readonly mask?: ReadonlyArray<number> | undefined
  /** Bytes of the length: as few as possible by default. */
  readonly lengthBytes?: 0 | 2 | 8
}

const defaultMask = [0x12, 0x34, 0x56, 0x78]

/** The bytes of a frame. */
export const clientFrame = (frame: ClientFrame): Buffer => {
  const { isFinal = true, opcode, reserved = 0 } = frame
  const mask = "mask" in frame ? frame.mask : defaultMask
  const payload = Buffer.from(frame.payload ?? "")
  const lengthBytes = frame.lengthBytes ?? (payload.length < 126 ? 0 : payload.length < 65_536 ? 2 : 8)
  const marks = { 0: payload.length, 2: 126, 8: 127 }
  const length = Buffer.alloc(lengthBytes)
  if (lengthBytes === 2) length.writeUInt16BE(payload.length)
  if (lengthBytes === 8) length.writeBigUInt64BE(BigInt(payload.length))
  return Buffer.concat([
    Buffer.from([
      (isFinal ? 0x80 : 0) | (reserved << 4) | opcode,
      (mask === undefined ? 0 : 0x80) | marks[lengthBytes]
    ]),
    length,
    Buffer.from(mask ?? []),
    payload.map((byte, index) => byte ^ (mask?.[index % 4] ?? 0))
  ])
}

/** The payload of a close frame. */
export const closePayload = (code: number, reason: string | Uint8Array = ""): Buffer => {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(code)
  return Buffer.concat([bytes, Buffer.from(reason)])
}
