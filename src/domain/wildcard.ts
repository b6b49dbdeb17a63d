/**
 * Tells whether a pattern matches the whole text. `*` stands for any run of characters; every other character is literal.
 * Takes time proportional to both lengths: only the last `*` is retried, which suffices.
 */
export const matchesPattern = (pattern: string, text: string): boolean => {
  const expected = [...pattern]
  const characters = [...text]
  let textIndex = 0
  let patternIndex = 0
  /** The index after the last `*`, and the text index from which the rest of the pattern was tried. */
  let lastStar: { readonly next: number; readonly from: number } | undefined
  while (textIndex < characters.length) {
    const wanted = expected[patternIndex]
    if (wanted === "*") {
      patternIndex += 1
      lastStar = { next: patternIndex, from: textIndex }
    } else if (wanted === characters[textIndex]) {
      patternIndex += 1
      textIndex += 1
    } else if (lastStar !== undefined) {
      lastStar = { next: lastStar.next, from: lastStar.from + 1 }
      patternIndex = lastStar.next
      textIndex = lastStar.from
    } else return false
  }
  return expected.slice(patternIndex).every((wanted) => wanted === "*")
}

/** Matches a tool: patterns with a slash match `server/tool`, others `tool`. */
export const matchesToolPattern = (patterns: ReadonlyArray<string>, server: string, tool: string): boolean =>
  patterns.some((pattern) => matchesPattern(pattern, pattern.includes("/") ? `${server}/${tool}` : tool))
