/**
 * Does a pattern cover a whole text? Only the last `*` is ever tried again, which suffices, and takes no longer than
 * both lengths allow: the names of tools are chosen by strangers.
 */
const covers = (pattern: ReadonlyArray<string>, text: ReadonlyArray<string>): boolean => {
  let at = 0
  let inPattern = 0
  /** Behind the last `*`, and where in the text what follows it was looked for last. */
  let star: { readonly behind: number; readonly from: number } | undefined
  while (at < text.length) {
    const wanted = pattern[inPattern]
    if (wanted === "*") {
      inPattern += 1
      star = { behind: inPattern, from: at }
    } else if (wanted === "?" || wanted === text[at]) {
      inPattern += 1
      at += 1
    } else if (star !== undefined) {
      star = { behind: star.behind, from: star.from + 1 }
      inPattern = star.behind
      at = star.from
    } else return false
  }
  return pattern.slice(inPattern).every((wanted) => wanted === "*")
}

/**
 * Does one of the patterns cover a tool? `*` stands for any run of characters and `?` for one; a pattern with a slash
 * is about `server/tool`, any other about the tool's name alone.
 */
export const approves = (patterns: ReadonlyArray<string>, server: string, tool: string): boolean =>
  patterns.some((pattern) => covers([...pattern], [...(pattern.includes("/") ? `${server}/${tool}` : tool)]))
