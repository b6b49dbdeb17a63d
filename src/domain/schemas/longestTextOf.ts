const literal = String.raw`\\?[^\w\s\\()[\]|*+?{}^$.]`
const atom = String.raw`\[(?:\\.|[^\\\]])+\]|\\[dsw]|[\w.]`
const separatedGroup = new RegExp(String.raw`\((?:(${literal})(${atom})[*+]|(${atom})[*+](${literal}))\)`, "g")

/** Opens groups such as `(-[a-z]+)`: without the separator inside the repeated part, a repeated group matches in one way. */
const openSeparatedGroups = (pattern: string): string =>
  pattern.replaceAll(separatedGroup, (group: string, before = "", last = "", first = "", after = "") => {
    const separator = `${before}${after}`.replace("\\", "")
    return new RegExp(`^(?:${first}${last})$`, "u").test(separator) ? group : group.slice(1, -1)
  })

/**
 * The length of the longest text on which a pattern certainly takes few enough steps: infinite without repetitions, 0 when
 * nothing bounds the steps. A repetition and an open start multiply them by the length of the text, an alternative by two.
 */
export const longestTextOf = (pattern: string, maxSteps: number): number => {
  const grouped = pattern.replaceAll(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, "(").replaceAll(/(?<!\))\{\d+\}/g, "")
  const fixed = openSeparatedGroups(grouped)
  // Nested quantifiers have no bound. An optional group has one choice.
  if (/\)[*+{]/.test(fixed)) return 0
  const repetitions = fixed.match(/[*+{]|\\[1-9k]/g)?.length ?? 0
  const alternatives = fixed.match(/[?|]/g)?.length ?? 0
  const exponent = fixed.startsWith("^") && !fixed.includes("|") ? repetitions : repetitions + 1
  const steps = maxSteps / 2 ** alternatives
  return steps < 1 ? 0 : Math.floor(steps ** (1 / exponent))
}
