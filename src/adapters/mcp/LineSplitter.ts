/** What a piece of output gave: a line, or the mark of one that was too long to keep. */
export type Line =
  | { readonly _tag: "Line"; readonly bytes: Uint8Array }
  /** `edges` are the first and the last bytes of the line: enough to see whose it was. */
  | { readonly _tag: "TooLong"; readonly edges: Uint8Array }

/** How much of either end of a line that is too long is kept, in bytes. */
const edgeBytes = 256

const newline = 10

const join = (chunks: ReadonlyArray<Uint8Array>, length: number): Uint8Array => {
  const [only] = chunks
  if (only !== undefined && chunks.length === 1) return only
  const joined = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    joined.set(chunk, offset)
    offset += chunk.length
  }
  return joined
}

/**
 * Cuts a stream of bytes into lines. Pieces are kept as they come and joined once per line; a line of more than
 * `maxBytes` is dropped but for its edges, so that memory stays bounded.
 */
export const makeLineSplitter = (maxBytes: number): ((chunk: Uint8Array) => ReadonlyArray<Line>) => {
  let pieces: Array<Uint8Array> = []
  let length = 0
  let head: Uint8Array | undefined
  let tail: Uint8Array = new Uint8Array()

  const take = (piece: Uint8Array): void => {
    length += piece.length
    if (head === undefined && length <= maxBytes) {
      pieces.push(piece)
      return
    }
    if (head === undefined) {
      const kept = join(pieces, length - piece.length)
      head = join([kept, piece], length).slice(0, edgeBytes)
      tail = kept
      pieces = []
    }
    tail = join([tail, piece], tail.length + piece.length).slice(-edgeBytes)
  }
  const end = (): Line => {
    const line: Line =
      head === undefined
        ? { _tag: "Line", bytes: join(pieces, length) }
        : { _tag: "TooLong", edges: join([head, tail], head.length + tail.length) }
    pieces = []
    length = 0
    head = undefined
    tail = new Uint8Array()
    return line
  }

  return (chunk) => {
    const lines: Array<Line> = []
    let start = 0
    for (let at = chunk.indexOf(newline); at >= 0; at = chunk.indexOf(newline, start)) {
      take(chunk.subarray(start, at))
      lines.push(end())
      start = at + 1
    }
    if (start < chunk.length) take(chunk.subarray(start))
    return lines
  }
}
