export type Line =
  | { readonly _tag: "Line"; readonly bytes: Uint8Array }
  /** A line beyond the limit. `edges` holds its first and last bytes, which identify the request. */
  | { readonly _tag: "TooLong"; readonly edges: Uint8Array }

/** Bytes kept from each end of an oversized line. */
const edgeBytes = 256

export const newline = 10

/** Finds the next newline, at a code unit. Both byte orders of UTF-16 match: U+0A00 is not assigned. */
const findNewline = (bytes: Uint8Array, start: number, codeUnitBytes: 1 | 2): number => {
  let at = bytes.indexOf(newline, start)
  while (at >= 0 && codeUnitBytes === 2 && bytes[at ^ 1] !== 0) at = bytes.indexOf(newline, at + 1)
  return codeUnitBytes === 2 && at >= 0 ? at - (at % 2) : at
}

const concatBytes = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [only] = chunks
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks)
}

/** Splits bytes into lines. Of a line beyond `maxBytes` only the edges are kept. */
export const makeLineSplitter = (
  maxBytes: number,
  codeUnitBytes: 1 | 2 = 1
): ((chunk: Uint8Array) => ReadonlyArray<Line>) => {
  /** The first byte of an incomplete code unit. */
  let half: Uint8Array = new Uint8Array()
  let pieces: Array<Uint8Array> = []
  let length = 0
  let head: Uint8Array | undefined
  let tail: Uint8Array = new Uint8Array()

  const append = (piece: Uint8Array): void => {
    length += piece.length
    if (head === undefined && length <= maxBytes) {
      pieces.push(piece)
      return
    }
    if (head === undefined) {
      // Every piece but the last has at least one byte, so this many pieces suffice.
      head = concatBytes([...pieces, piece].slice(0, edgeBytes)).slice(0, edgeBytes)
      tail = concatBytes(pieces.slice(-edgeBytes))
      pieces = []
    }
    tail = concatBytes([tail, piece]).slice(-edgeBytes)
  }
  const finishLine = (): Line => {
    const line: Line =
      head === undefined
        ? { _tag: "Line", bytes: concatBytes(pieces) }
        : { _tag: "TooLong", edges: concatBytes([head, tail]) }
    pieces = []
    length = 0
    head = undefined
    tail = new Uint8Array()
    return line
  }

  return (chunk) => {
    const lines: Array<Line> = []
    const all = half.length === 0 ? chunk : concatBytes([half, chunk])
    const whole = all.length - (all.length % codeUnitBytes)
    const units = all.subarray(0, whole)
    half = all.subarray(whole)
    let start = 0
    for (let at = findNewline(units, 0, codeUnitBytes); at >= 0; at = findNewline(units, start, codeUnitBytes)) {
      append(units.subarray(start, at))
      lines.push(finishLine())
      start = at + codeUnitBytes
    }
    if (start < units.length) append(units.subarray(start))
    return lines
  }
}
