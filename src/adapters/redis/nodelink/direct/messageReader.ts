import { maxNodeMessageBytes } from "../messageFormat.ts"

/** Puts messages, each behind its length, together from the chunks of a connection. False after an invalid length. */
export const makeMessageReader = (
  onMessage: (message: Buffer) => void,
  onCheck: () => void
): ((chunk: Buffer) => boolean) => {
  const header = Buffer.alloc(4)
  let headerBytes = 0
  let message = header.subarray(0, 0)
  let filled = 0
  return (chunk) => {
    let offset = 0
    while (offset < chunk.length) {
      if (filled === message.length) {
        const taken = chunk.copy(header, headerBytes, offset, offset + 4 - headerBytes)
        offset += taken
        headerBytes += taken
        if (headerBytes < 4) return true
        headerBytes = 0
        const length = header.readUInt32BE()
        if (length > maxNodeMessageBytes) return false
        if (length === 0) {
          onCheck()
          continue
        }
        message = Buffer.allocUnsafeSlow(length)
        filled = 0
      }
      const taken = chunk.copy(message, filled, offset)
      offset += taken
      filled += taken
      if (filled === message.length) onMessage(message)
    }
    return true
  }
}
