import type { Tool } from "../model/Tool.ts"
import { asObject } from "../json.ts"
import { parseToolMeta } from "./toolMeta.ts"

/** The usual constants of BM25: saturation of repeated words, and normalization by length. */
const bm25 = { k: 1.2, b: 0.75 }

/** The maximum number of words of a query: each is looked up in every tool. */
const maxQueryWords = 64

/** Splits a text into lower-case words, and names in `camelCase`, `snake_case` and `kebab-case` into their parts. */
const tokenize = (text: string): ReadonlyArray<string> =>
  text
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "")

/** The texts of a tool with the weight of their words. */
const weightedTexts = (name: string, tool: Tool): ReadonlyArray<readonly [text: string, weight: number]> => [
  [name, 4],
  [(parseToolMeta(tool.meta)?.tags ?? []).join(" "), 3],
  [Object.keys(asObject(tool.paramsSchema["properties"])).join(" "), 2],
  [tool.description, 1]
]

export interface ToolIndex {
  /** Gives the names of at most `limit` matching tools, the best first. */
  readonly search: (query: string, limit: number) => ReadonlyArray<string>
}

/** Makes a BM25 index over names, descriptions, tags and parameters of tools. */
export const makeToolIndex = (tools: Iterable<readonly [name: string, tool: Tool]>): ToolIndex => {
  const entries = [...tools].map(([name, tool]) => {
    const counts = new Map<string, number>()
    for (const [text, weight] of weightedTexts(name, tool)) {
      for (const word of tokenize(text)) counts.set(word, (counts.get(word) ?? 0) + weight)
    }
    return { name, counts, length: [...counts.values()].reduce((sum, count) => sum + count, 0) }
  })
  const average = entries.reduce((sum, { length }) => sum + length, 0) / Math.max(1, entries.length)
  const documentFrequency = new Map<string, number>()
  for (const { counts } of entries) {
    for (const word of counts.keys()) documentFrequency.set(word, (documentFrequency.get(word) ?? 0) + 1)
  }

  const inverseDocumentFrequency = (word: string): number => {
    const count = documentFrequency.get(word) ?? 0
    return Math.log(1 + (entries.length - count + 0.5) / (count + 0.5))
  }
  /** The weighted frequency of a word in a tool; a prefix of a longer word counts half. */
  const termFrequency = (counts: ReadonlyMap<string, number>, word: string): number => {
    const exact = counts.get(word)
    if (exact !== undefined || word.length < 3) return exact ?? 0
    let found = 0
    for (const [known, count] of counts) if (known.startsWith(word)) found = Math.max(found, count / 2)
    return found
  }

  return {
    search: (query, limit) => {
      const words = [...new Set(tokenize(query))].slice(0, maxQueryWords)
      return entries
        .map(({ counts, length, name }) => ({
          name,
          score: words.reduce((sum, word) => {
            const frequency = termFrequency(counts, word)
            const normalization = bm25.k * (1 - bm25.b + (bm25.b * length) / Math.max(1, average))
            return sum + (inverseDocumentFrequency(word) * frequency * (bm25.k + 1)) / (frequency + normalization)
          }, 0)
        }))
        .filter(({ score }) => score > 0)
        .toSorted((one, other) => other.score - one.score || (one.name < other.name ? -1 : 1))
        .slice(0, limit)
        .map(({ name }) => name)
    }
  }
}
