import { isUtf8 } from "node:buffer"

/** First byte of a text frame that is a whole message. */
const wholeText = 0x81

/** Set in the second byte of a masked frame, whose other bits are the length or this mark of a longer length. */
const maskBit = 0x80
const length16 = 126

const maskBytes = 4

/** Applies the mask that begins at `maskAt` to a payload in place; a second time restores it. */
const applyMask = (bytes: Buffer, maskAt: number, from: number, to: number): void => {
  const maskByte = (index: number): number => bytes[maskAt + ((index - from) & 3)] ?? 0
  let at = from
  for (; at < to && ((bytes.byteOffset + at) & 3) !== 0; at++) bytes[at] = (bytes[at] ?? 0) ^ maskByte(at)
  if (at === to) return
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset + at, (to - at) >> 2)
  // All current processors are little-endian.
  const mask = maskByte(at) | (maskByte(at + 1) << 8) | (maskByte(at + 2) << 16) | (maskByte(at + 3) << 24)
  for (let index = 0; index < words.length; index++) words[index] = (words[index] ?? 0) ^ mask
  for (at += words.length * 4; at < to; at++) bytes[at] = (bytes[at] ?? 0) ^ maskByte(at)
}

/**
 * Reads the short text messages at the begin of bytes that a client sent (RFC 6455), and unmasks them in place. Stops at
 * the first frame of another kind, incomplete, longer than 64 KiB or than `maxBytes`, or with invalid UTF-8, and after a
 * message for which `onText` gives false. Returns the index after the last message.
 */
export const takeTextFrames = (bytes: Buffer, maxBytes: number, onText: (text: Buffer) => boolean): number => {
  let at = 0
  let isWanted = true
  while (isWanted && bytes[at] === wholeText) {
    const mark = (bytes[at + 1] ?? 0) ^ maskBit
    if (mark > length16) return at
    const maskAt = mark < length16 ? at + 2 : at + 4
    const length = mark < length16 ? mark : ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0)
    const from = maskAt + maskBytes
    const to = from + length
    if (to > bytes.length || length > maxBytes) return at
    applyMask(bytes, maskAt, from, to)
    const text = bytes.subarray(from, to)
    if (!isUtf8(text)) {
      applyMask(bytes, maskAt, from, to)
      return at
    }
    at = to
    isWanted = onText(text)
  }
  return at
}
