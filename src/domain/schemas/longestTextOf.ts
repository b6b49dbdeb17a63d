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
 * nothing bounds the steps. An unlimited repetition and an open start multiply them by the length of the text, others by the
 * number of their choices.
 */
export const longestTextOf = (pattern: string, maxSteps: number): number => {
  const grouped = pattern.replaceAll(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, "(").replaceAll(/(?<!\))\{\d+\}/g, "")
  // A reference to a group repeats its text; other escapes and classes are one character.
  const plain = openSeparatedGroups(grouped).replaceAll(/\\([^])|\[(?:\\[^]|[^\\\]])*\]/g, (_, escaped = "") =>
    /[1-9k]/.test(escaped) ? "*" : "x"
  )
  // Nested quantifiers have no bound. An optional group has one choice.
  if (/\)[*+{]/.test(plain)) return 0
  const repetitions = plain.match(/[*+]|\{\d+,\}/g)?.length ?? 0
  const exponent = plain.startsWith("^") && !plain.includes("|") ? repetitions : repetitions + 1
  const choices = [
    ...plain.split(/[()]/).map((part) => part.split("|").length),
    ...Array.from(plain.matchAll(/\{(\d+),(\d+)\}/g), ([, least, most]) => Number(most) - Number(least) + 1),
    ...Array.from(plain.matchAll(/\?/g), () => 2)
  ]
  const steps = choices.reduce((left, count) => left / count, maxSteps)
  return steps < 1 ? 0 : Math.floor(steps ** (1 / exponent))
}
