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

/** Splits bytes into lines. Of a line beyond `maxBytes` only the edges are kept. */
export const makeLineSplitter = (
  maxBytes: number,
  codeUnitBytes: 1 | 2 = 1
): ((chunk: Uint8Array) => ReadonlyArray<Line>) => {
  /** The first byte of an incomplete code unit. */
  let half: Uint8Array = new Uint8Array()
  /** The line as Latin-1. Appending to a text does not copy it. */
  let text = ""
  let edges: { readonly head: string; readonly tail: string } | undefined

  const append = (bytes: Buffer): void => {
    text += bytes.toString("latin1")
    if (edges === undefined && text.length <= maxBytes) return
    edges = { head: edges?.head ?? text.slice(0, edgeBytes), tail: `${edges?.tail ?? ""}${text}`.slice(-edgeBytes) }
    text = ""
  }
  const takeLine = (): Line => {
    const line: Line =
      edges === undefined
        ? { _tag: "Line", bytes: Buffer.from(text, "latin1") }
        : { _tag: "TooLong", edges: Buffer.from(edges.head + edges.tail, "latin1") }
    text = ""
    edges = undefined
    return line
  }

  return (chunk) => {
    const lines: Array<Line> = []
    const all = Buffer.concat([half, chunk])
    const units = all.subarray(0, all.length - (all.length % codeUnitBytes))
    half = all.subarray(units.length)
    let start = 0
    for (let at = findNewline(units, 0, codeUnitBytes); at >= 0; at = findNewline(units, start, codeUnitBytes)) {
      append(units.subarray(start, at))
      lines.push(takeLine())
      start = at + codeUnitBytes
    }
    append(units.subarray(start))
    return lines
  }
}
