const literal = String.raw`\\?[^\w\s\\()[\]|*+?{}^$.]`
const atom = String.raw`\[(?:\\.|[^\\\]])+\]|\\[dsw]|[\w.]`
const separatedGroup = new RegExp(String.raw`\((?:(${literal})(${atom})[*+]|(${atom})[*+](${literal}))\)`, "g")

/** Opens groups such as `(-[a-z]+)`: without the separator inside the repeated part, a repeated group matches in one way. */
const openSeparatedGroups = (pattern: string): string =>
  pattern.replaceAll(separatedGroup, (group: string, before = "", last = "", first = "", after = "") => {
    const separator = `${before}${after}`.replace("\\", "")
    return new RegExp(`^(?:${first}${last})$`, "u").test(separator) ? group : group.slice(1, -1)
  })

/** The exponent of the text length that bounds the steps of a pattern: each quantifier and an open start add one. */
export const patternExponentOf = (pattern: string): number => {
  const grouped = pattern.replaceAll(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, "(").replaceAll(/(?<!\))\{\d+\}/g, "")
  const fixed = openSeparatedGroups(grouped)
  // Nested quantifiers have no bound. An optional group has one choice.
  if (/\)[*+{]/.test(fixed)) return Number.POSITIVE_INFINITY
  const choices = fixed.match(/[*+?{|]|\\[1-9k]/g)?.length ?? 0
  return fixed.startsWith("^") && !fixed.includes("|") ? choices : choices + 1
}
