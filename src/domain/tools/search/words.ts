/** Words that name no task. A query of such words alone keeps them. */
const stopWords = new Set(
  (
    "a about again all am an and another any are as at be been being by can could did do does for from had has have he her " +
    "here his how i if in into is it its may me might more most must my no not of on one or other our out over she should " +
    "so some than that the their them then there these they this those to under up us was we were what when where which " +
    "who whom whose why will with would you your"
  ).split(" ")
)

/**
 * Words that tasks and tools use for the same thing. Only verbs and nouns of any office: the words of one service do not
 * belong here.
 */
const synonymGroups = [
  "create add new make put insert",
  "delete remove erase drop clear",
  "get show read view see fetch retrieve display describe",
  "list all show",
  "update edit change modify set rename",
  "search find query lookup look",
  "send post message write",
  "run execute start launch trigger",
  "stop end cancel abort",
  "move transfer",
  "copy duplicate clone",
  "upload attach",
  "download export save store",
  "merge combine join",
  "comment note remark reply",
  "approve accept confirm",
  "reject decline deny",
  "close complete done finish",
  "undo revert rollback restore previous",
  "open navigate visit go",
  "click press",
  "mail email inbox",
  "issue bug ticket task todo",
  "image picture photo screenshot",
  "web website site page url internet online",
  "repository repo",
  "pull pr",
  "folder directory",
  "file document",
  "database db sql",
  "spreadsheet sheet",
  "event meeting appointment",
  "user person people member",
  "log output",
  "error failure fail",
  "deploy deployment release rollout",
  "price cost",
  "status state",
  "documentation docs",
  "address location",
  "server host machine",
  "label tag"
].map((group) => group.split(" "))

/** Gives the singular of a regular English plural: `boxes`, `entries`, `tools`. Other words stay. */
export const singular = (word: string): string => {
  if (!word.endsWith("s") || word.length < 4 || !/^[a-z]+$/.test(word) || /^(?:ser|spec)ies$/.test(word)) return word
  if (word.endsWith("ies") && !/^(?:calor|cook|mov|self|zomb)ies$/.test(word) && word.length > 4)
    return `${word.slice(0, -3)}y`
  if (/(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2)
  // Words such as `access`, `status`, `analysis` and `alias` are no plurals.
  return /(?:[su]|i|[ilv]a)s$/.test(word) ? word : word.slice(0, -1)
}

/** Splits a text into lower-case words in the singular, and names in `camelCase`, `snake_case` and `kebab-case` into parts. */
export const wordsOf = (text: string): ReadonlyArray<string> =>
  text
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")
    .map(singular)

/** Runs of scripts that have no spaces between words. */
const unspacedRuns = /([\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]+)/u

const pairsIn = (run: string): ReadonlyArray<string> => {
  const characters = [...run]
  return characters.length < 3 ? [run] : characters.slice(1).map((next, at) => `${characters[at]}${next}`)
}

const termsIn = (word: string): ReadonlyArray<string> =>
  word
    .split(unspacedRuns)
    .filter((part) => part !== "")
    .flatMap((part) => (unspacedRuns.test(part) ? pairsIn(part) : [part]))

/** Splits words into what is looked up: Chinese and Japanese into pairs of characters, as they have no spaces. */
export const termsOf = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words.some((word) => unspacedRuns.test(word)) ? words.flatMap(termsIn) : words

const synonyms = new Map<string, Set<string>>()
for (const group of synonymGroups) {
  for (const word of group) {
    const known = synonyms.get(word) ?? new Set()
    for (const other of group) if (other !== word) known.add(singular(other))
    synonyms.set(singular(word), known)
  }
}

/** The words that a query may mean by this one. */
export const synonymsOf = (word: string): Iterable<string> => synonyms.get(word) ?? []

/** The different words of a query that name its task. */
export const queryWords = (query: string, maxWords: number): ReadonlyArray<string> => {
  const words = [...new Set(wordsOf(query))]
  const naming = words.filter((word) => !stopWords.has(word))
  return (naming.length === 0 ? words : naming).slice(0, maxWords)
}
