import { decodeUtf8Lossy } from "../../domain/utf8.ts"

const endSignature = 0x06054b50
const endLength = 22
const maxCommentLength = 0xffff

const entrySignature = 0x02014b50
const entryLength = 46

/** The system of an entry that has a Unix mode in the upper half of its attributes. */
const unixSystem = 3

/** Offset of the record at the end of a ZIP archive, which follows all others but may have a comment. */
const findEnd = (view: DataView): number | undefined => {
  const first = Math.max(0, view.byteLength - endLength - maxCommentLength)
  for (let offset = view.byteLength - endLength; offset >= first; offset--) {
    if (view.getUint32(offset, true) === endSignature) return offset
  }
  return undefined
}

/**
 * Finds the Unix modes of the entries of a ZIP archive by their paths. Only the central directory at its end has them,
 * and tells links apart. Gives what it finds: the archive may be damaged.
 */
export const findZipModes = (bytes: Uint8Array): ReadonlyMap<string, number> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const modes = new Map<string, number>()
  const end = findEnd(view)
  if (end === undefined) return modes
  let offset = view.getUint32(end + 16, true)
  while (offset + entryLength <= end && view.getUint32(offset, true) === entrySignature) {
    const nameEnd = offset + entryLength + view.getUint16(offset + 28, true)
    if (nameEnd > end) return modes
    const isUnix = view.getUint8(offset + 5) === unixSystem
    const path = decodeUtf8Lossy(bytes.subarray(offset + entryLength, nameEnd))
    if (isUnix) modes.set(path, view.getUint16(offset + 40, true))
    offset = nameEnd + view.getUint16(offset + 30, true) + view.getUint16(offset + 32, true)
  }
  return modes
}
