/**
 * The search of the site. VitePress runs these functions when it builds the index, and sends their text to the browser: each must
 * use nothing outside of it.
 */

/** The words of a text, also in scripts without spaces. */
const tokenize = (text: string): Array<string> =>
  [...new Intl.Segmenter("zh", { granularity: "word" }).segment(text)].flatMap(({ isWordLike, segment }) =>
    isWordLike === true ? [segment, ...(segment.includes("_") ? segment.split("_") : [])] : []
  )

/** A word in the form in which it is found: without its ending, or nothing for words that occur in every sentence. */
const processTerm = (term: string): string | null => {
  const word = term.toLowerCase().replace(/['’]s$/, "")
  if (
    /^(?:a|an|and|are|as|at|by|can|do|does|for|from|how|i|in|is|it|my|of|on|or|that|the|this|to|use|what|when|with|you|your)$/.test(
      word
    )
  ) {
    return null
  }
  if (word.length < 5 || !/^[a-z]+$/.test(word)) return word
  const stem = word
    .replace(/(?:sses|ies)$/, (ending) => (ending === "ies" ? "y" : "ss"))
    .replace(/([^s])s$/, "$1")
    .replace(/([aeiouy][a-z]*)(?:ing|ed|ation|ations|er|al)$/, "$1")
    .replace(/([^aeiouls])\1$/, "$1")
  return stem.length > 4 ? stem.replace(/e$/, "") : stem
}

/** Guides come before the reference, and both before what only maintainers read. */
const boostDocument = (id: string): number => {
  if (/\/changelog|\/decisions\//.test(id)) return 0.15
  // The front page repeats what the guides say.
  if (id.startsWith("/a2c-smcp/#")) return 0.3
  if (/\/reference\/|\/architecture|\/contributing|\/benchmarks|\/interop|\/reliability/.test(id)) return 0.35
  // A pasted error has words that guides have as well. The section of failed calls is a guide.
  if (/\/troubleshooting\.html#(?!failed)/.test(id)) return 1.8
  if (/\/how-to\/|\/tutorial|\/concepts|\/overview/.test(id)) return 1.2
  return 1
}

/** Short words have no misspellings: `file` is not `five`. */
const fuzzy = (term: string): number | false => (term.length > 5 ? 0.15 : false)

export const search = {
  options: { tokenize, processTerm },
  searchOptions: { boost: { title: 4, text: 2, titles: 1 }, boostDocument, fuzzy, prefix: true }
}
