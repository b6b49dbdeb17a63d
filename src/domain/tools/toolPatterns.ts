/**
 * Does a pattern cover a whole text? Only the last `*` is ever tried again, which suffices, and takes no longer than
 * both lengths allow: the names of tools are chosen by strangers.
 */
const matchesWildcard = (pattern: ReadonlyArray<string>, text: ReadonlyArray<string>): boolean => {
  let textIndex = 0
  let patternIndex = 0
  /** Behind the last `*`, and where in the text what follows it was looked for last. */
  let lastStar: { readonly behind: number; readonly from: number } | undefined
  while (textIndex < text.length) {
    const wanted = pattern[patternIndex]
    if (wanted === "*") {
      patternIndex += 1
      lastStar = { behind: patternIndex, from: textIndex }
    } else if (wanted === "?" || wanted === text[textIndex]) {
      patternIndex += 1
      textIndex += 1
    } else if (lastStar !== undefined) {
      lastStar = { behind: lastStar.behind, from: lastStar.from + 1 }
      patternIndex = lastStar.behind
      textIndex = lastStar.from
    } else return false
  }
  return pattern.slice(patternIndex).every((wanted) => wanted === "*")
}

/**
 * Does one of the patterns cover a tool? `*` stands for any run of characters and `?` for one; a pattern with a slash
 * is about `server/tool`, any other about the tool's name alone.
 */
export const matchesToolPattern = (patterns: ReadonlyArray<string>, server: string, tool: string): boolean =>
  patterns.some((pattern) =>
    matchesWildcard([...pattern], [...(pattern.includes("/") ? `${server}/${tool}` : tool)])
  )
