/** What a piece of output gave: a line, or the mark of one that was too long to keep. */
export type Line =
  | { readonly _tag: "Line"; readonly bytes: Uint8Array }
  /** `edges` are the first and the last bytes of the line: enough to see whose it was. */
  | { readonly _tag: "TooLong"; readonly edges: Uint8Array }

/** How much of either end of a line that is too long is kept, in bytes. */
const edgeBytes = 256

/** The byte that ends a line. */
export const newline = 10

/**
 * Where the next line ends. With two bytes to a unit either order of them will do: U+0A00, the newline read in the
 * wrong order, is no character.
 */
const findNewline = (bytes: Uint8Array, start: number, codeUnitBytes: 1 | 2): number => {
  let at = bytes.indexOf(newline, start)
  while (at >= 0 && codeUnitBytes === 2 && bytes[at ^ 1] !== 0) at = bytes.indexOf(newline, at + 1)
  return codeUnitBytes === 2 && at >= 0 ? at - (at % 2) : at
}

const concatBytes = (chunks: ReadonlyArray<Uint8Array>): Uint8Array => {
  const [only] = chunks
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks)
}

/**
 * Cuts a stream of bytes into lines, where one code unit of its text takes `unit` bytes. Pieces are kept as they come
 * and joined once per line; a line of more than `maxBytes` is dropped but for its edges, so that memory stays bounded.
 */
export const makeLineSplitter = (
  maxBytes: number,
  codeUnitBytes: 1 | 2 = 1
): ((chunk: Uint8Array) => ReadonlyArray<Line>) => {
  /** The first byte of a unit whose second one has not come yet. */
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
      // No piece is empty but the last, so that many of them are always enough.
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
    for (
      let at = findNewline(units, 0, codeUnitBytes);
      at >= 0;
      at = findNewline(units, start, codeUnitBytes)
    ) {
      append(units.subarray(start, at))
      lines.push(finishLine())
      start = at + codeUnitBytes
    }
    if (start < units.length) append(units.subarray(start))
    return lines
  }
}
