import { createRequire } from "node:module"

/** Unmasks a whole buffer in place, with a mask that begins at its first byte. */
type NativeUnmask = (bytes: Buffer, mask: Buffer) => void

/** The package `bufferutil` unmasks long messages faster; `undefined` where it could not be installed. */
const findNativeUnmask = (): NativeUnmask | undefined => {
  try {
    const native: { readonly unmask: NativeUnmask } = createRequire(import.meta.url)("bufferutil")
    return native.unmask
  } catch {
    return undefined
  }
}

const nativeMask = Buffer.alloc(4)

/** From this length on, the call of native code costs less than it saves. */
const minNativeBytes = 128

/** Unmasks the words between two aligned indices. */
const unmaskWords = (bytes: Buffer, from: number, to: number, mask: number): void => {
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + from, (to - from) >> 2)
  const end = words.length & ~3
  for (let at = 0; at < end; at += 4) {
    words[at] = (words[at] ?? 0) ^ mask
    words[at + 1] = (words[at + 1] ?? 0) ^ mask
    words[at + 2] = (words[at + 2] ?? 0) ^ mask
    words[at + 3] = (words[at + 3] ?? 0) ^ mask
  }
  for (let at = end; at < words.length; at++) words[at] = (words[at] ?? 0) ^ mask
}

/**
 * Unmasks the bytes between two indices in place (RFC 6455 §5.3), with the mask of four bytes at `maskAt`. `offset` is the
 * number of bytes of the payload before them.
 */
type Unmask = (bytes: Buffer, from: number, to: number, masks: Buffer, maskAt: number, offset: number) => void

/** Makes a way to unmask, which leaves long payloads to `native`. */
export const makeUnmask =
  (native: NativeUnmask | undefined): Unmask =>
  (bytes, from, to, masks, maskAt, offset) => {
    const maskByte = (index: number): number => masks[maskAt + ((index - from + offset) & 3)] ?? 0
    if (native !== undefined && to - from >= minNativeBytes) {
      for (let index = 0; index < 4; index++) nativeMask[index] = maskByte(from + index)
      return native(bytes.subarray(from, to), nativeMask)
    }
    let at = from
    for (; at < to && ((bytes.byteOffset + at) & 3) !== 0; at++) bytes[at] = (bytes[at] ?? 0) ^ maskByte(at)
    const wordsEnd = at + ((to - at) & ~3)
    // All current processors are little-endian.
    const word = maskByte(at) | (maskByte(at + 1) << 8) | (maskByte(at + 2) << 16) | (maskByte(at + 3) << 24)
    if (wordsEnd > at) unmaskWords(bytes, at, wordsEnd, word)
    for (at = wordsEnd; at < to; at++) bytes[at] = (bytes[at] ?? 0) ^ maskByte(at)
    return undefined
  }

export const unmask = makeUnmask(findNativeUnmask())
