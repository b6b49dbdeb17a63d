/** Kinds of frames (RFC 6455 §5.2). */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const

/** Codes of close frames (RFC 6455 §7.4.1). `none` is never sent. */
export const closeCodes = { normal: 1000, protocolError: 1002, none: 1005, invalidText: 1007, tooBig: 1009 } as const

/** Longest payload of a close, ping or pong. */
export const maxControlBytes = 125

/** True for codes that a close frame may have: registered ones, and those of libraries and applications. */
export const isCloseCode = (code: number): boolean =>
  (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code <= 4999)

/** The longest header of a frame that a server sends. */
export const maxFrameHeaderBytes = 10

const finalBit = 0x80

/** Writes the header of an unmasked frame before `at`, and returns its first index. */
export const writeFrameHeader = (bytes: Buffer, at: number, opcode: number, length: number): number => {
  const size = length < 126 ? 2 : length < 65_536 ? 4 : maxFrameHeaderBytes
  const from = at - size
  bytes[from] = finalBit | opcode
  if (size === 2) bytes[from + 1] = length
  else if (size === 4) {
    bytes[from + 1] = 126
    bytes.writeUInt16BE(length, from + 2)
  } else {
    bytes[from + 1] = 127
    bytes.writeUInt32BE(Math.floor(length / 2 ** 32), from + 2)
    bytes.writeUInt32BE(length >>> 0, from + 6)
  }
  return from
}

/** A whole unmasked frame. */
export const encodeWebSocketFrame = (opcode: number, payload: string | Buffer): Buffer => {
  const length = Buffer.byteLength(payload)
  const bytes = Buffer.allocUnsafe(maxFrameHeaderBytes + length)
  if (typeof payload === "string") bytes.write(payload, maxFrameHeaderBytes)
  else payload.copy(bytes, maxFrameHeaderBytes)
  return bytes.subarray(writeFrameHeader(bytes, maxFrameHeaderBytes, opcode, length))
}

/** A close frame; {@link closeCodes.none} gives one without a code. */
export const encodeCloseFrame = (code: number): Buffer => {
  const payload = Buffer.alloc(code === closeCodes.none ? 0 : 2)
  if (payload.length > 0) payload.writeUInt16BE(code)
  return encodeWebSocketFrame(opcodes.close, payload)
}
