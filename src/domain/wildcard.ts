const star = 0x2a

/**
 * Tells whether a pattern matches the whole text. `*` stands for any run of characters; every other character is literal.
 * Takes time proportional to both lengths: only the last `*` is retried, which suffices. Compares UTF-16 units in place:
 * policies match many patterns on the path of a call.
 */
export const matchesPattern = (pattern: string, text: string): boolean => {
  let textIndex = 0
  let patternIndex = 0
  /** The index after the last `*`, and the text index from which the rest of the pattern was tried. */
  let afterStar = -1
  let triedFrom = 0
  while (textIndex < text.length) {
    const wanted = pattern.charCodeAt(patternIndex)
    if (wanted === star) {
      patternIndex += 1
      afterStar = patternIndex
      triedFrom = textIndex
    } else if (wanted === text.charCodeAt(textIndex)) {
      patternIndex += 1
      textIndex += 1
    } else if (afterStar >= 0) {
      triedFrom += 1
      patternIndex = afterStar
      textIndex = triedFrom
    } else return false
  }
  while (pattern.charCodeAt(patternIndex) === star) patternIndex += 1
  return patternIndex === pattern.length
}

/** Matches a tool: patterns with a slash match `server/tool`, others `tool`. */
export const matchesToolPattern = (patterns: ReadonlyArray<string>, server: string, tool: string): boolean =>
  patterns.some((pattern) => matchesPattern(pattern, pattern.includes("/") ? `${server}/${tool}` : tool))
