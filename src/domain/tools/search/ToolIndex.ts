import { asObject, type JsonObject } from "../../json.ts"
import type { Tool } from "../../model/Tool.ts"
import { asArray } from "../../schemas/jsonSchema.ts"
import { parseToolMeta } from "../toolMeta.ts"
import { queryWords, synonymsOf, termsOf, wordsOf } from "./words.ts"

/** Saturation of repeated words in BM25. */
const saturation = 1.6

/** The share that a synonym, or a longer word with this beginning, has of the word itself. */
const shares = { synonym: 0.6, prefix: 0.5 }

/** The maximum number of words of a query: each is looked up. */
const maxQueryWords = 64

/** The part of a text that counts, in characters: descriptions begin with the purpose, and may go on for pages. */
const maxTextLength = 1200

/** The power of the share of words that a tool has: tasks have words, such as names and places, that no tool has. */
const coverage = 0.8

/** The texts of the parameters of a schema: their descriptions, or values such as `forecast` or `celsius`. */
const textsIn = ({ paramsSchema }: Tool, textsOf: (property: JsonObject) => ReadonlyArray<unknown>): string =>
  Object.values(asObject(paramsSchema["properties"]))
    .flatMap((property) => textsOf(asObject(property)))
    .filter((text) => typeof text === "string")
    .join(" ")

/** The weight of a word of a text, and how much the length of the text matters, from 0 to 1. */
const fields: ReadonlyArray<{ weight: number; normalization: number; textOf: (name: string, tool: Tool) => string }> = [
  // A shortened exposed name lacks words that the name at the Computer has.
  { weight: 4, normalization: 0.1, textOf: (name, tool) => [...new Set(wordsOf(`${name} ${tool.name}`))].join(" ") },
  { weight: 3, normalization: 0, textOf: (_, { meta }) => (parseToolMeta(meta)?.tags ?? []).join(" ") },
  {
    weight: 1,
    normalization: 0.75,
    textOf: (_, { paramsSchema }) => Object.keys(asObject(paramsSchema["properties"])).join(" ")
  },
  { weight: 1, normalization: 0.75, textOf: (_, { description }) => description },
  { weight: 0.3, normalization: 0.75, textOf: (_, tool) => textsIn(tool, ({ description }) => [description]) },
  { weight: 0.5, normalization: 0.3, textOf: (_, tool) => textsIn(tool, (property) => asArray(property["enum"])) }
]

export interface ToolIndex {
  /** Gives the names of at most `limit` matching tools, the best first. `boost` multiplies the score of a tool. */
  readonly search: (query: string, limit: number, boost?: (name: string) => number) => ReadonlyArray<string>
}

/** The weighted frequency of a word in each tool that has it, by the position of the tool. */
type Postings = Map<number, number>

/** Keeps the larger value of a tool. */
const raise = (values: Postings, at: number, value: number): void => {
  if (value > (values.get(at) ?? 0)) values.set(at, value)
}

/** Makes a BM25F index over names, tags, parameters, their values, and descriptions of tools. */
export const makeToolIndex = (tools: Iterable<readonly [name: string, tool: Tool]>): ToolIndex => {
  const entries = [...tools]
  const postings = new Map<string, Postings>()
  for (const { normalization, textOf, weight } of fields) {
    const texts = entries.map(([name, tool]) => termsOf(wordsOf(textOf(name, tool).slice(0, maxTextLength))))
    const average = Math.max(1, texts.reduce((sum, { length }) => sum + length, 0) / Math.max(1, entries.length))
    for (const [at, words] of texts.entries()) {
      const share = weight / (1 - normalization + (normalization * words.length) / average)
      for (const word of words) {
        const found: Postings = postings.get(word) ?? new Map()
        postings.set(word, found.set(at, (found.get(at) ?? 0) + share))
      }
    }
  }

  /** The frequencies of a word; those of longer words count by half in tools that lack the word itself. */
  const frequenciesOf = (word: string): Postings => {
    const exact = postings.get(word)
    if (word.length < 3) return exact ?? new Map()
    const found: Postings = new Map()
    for (const [known, frequencies] of postings) {
      if (known === word || !known.startsWith(word)) continue
      for (const [at, frequency] of frequencies) {
        if (exact?.has(at) !== true) raise(found, at, frequency * shares.prefix)
      }
    }
    for (const [at, frequency] of exact ?? []) found.set(at, frequency)
    return found
  }

  /** The score of a word, or of its best synonym, in each tool. */
  const scoresOf = (word: string): Postings => {
    const scores: Postings = new Map()
    const addScores = (frequencies: Postings, share: number): void => {
      const { size } = frequencies
      const rarity = Math.log(1 + (entries.length - size + 0.5) / (size + 0.5)) * share * (saturation + 1)
      for (const [at, frequency] of frequencies) raise(scores, at, (rarity * frequency) / (frequency + saturation))
    }
    addScores(frequenciesOf(word), 1)
    for (const synonym of synonymsOf(word)) addScores(postings.get(synonym) ?? new Map(), shares.synonym)
    return scores
  }

  return {
    search: (query, limit, boost = () => 1) => {
      const words = [...new Set(termsOf(queryWords(query, maxQueryWords)))].slice(0, maxQueryWords)
      const scores = words.map(scoresOf)
      return entries
        .flatMap(([name], at) => {
          const matched = scores.flatMap((scoreOf) => scoreOf.get(at) ?? [])
          if (matched.length === 0) return []
          const score = matched.reduce((sum, part) => sum + part, 0)
          // A tool that has all words is better than one that has a rare word.
          return [{ name, score: score * (matched.length / words.length) ** coverage * boost(name) }]
        })
        .toSorted((one, other) => other.score - one.score || (one.name < other.name ? -1 : 1))
        .slice(0, limit)
        .map(({ name }) => name)
    }
  }
}
