import { isJsonObject } from "../json.ts"

/** The maximum depth of rendered values below `server_parameters` (spec §8.5). */
export const maxRenderDepth = 10

/** The meaning of a placeholder: the text between `${` and `}`. */
export type PlaceholderReference =
  /** `input:id`: an input of the configuration. */
  | { readonly _tag: "Input"; readonly id: string }
  /** `env:NAME` or `env:NAME:-fallback`: an environment variable of the Computer. */
  | { readonly _tag: "Environment"; readonly name: string; readonly fallback: string | undefined }
  /** Any other text, such as `userHome`: a variable of the host. */
  | { readonly _tag: "Variable"; readonly name: string }

const placeholderSource = String.raw`\$\{(input:[^}]+|[^{}]+)\}`
const placeholderPattern = new RegExp(placeholderSource, "g")
const wholePlaceholderPattern = new RegExp(`^${placeholderSource}$`)

/** Parses the text between `${` and `}`. */
export const parsePlaceholder = (text: string): PlaceholderReference => {
  const [, kind, rest = ""] = /^(input|env):(.+)$/s.exec(text) ?? []
  if (kind === "input") return { _tag: "Input", id: rest }
  if (kind === undefined) return { _tag: "Variable", name: text }
  const [, name = rest, fallback] = /^(.*?):-(.*)$/s.exec(rest) ?? []
  return { _tag: "Environment", name, fallback }
}

/** A rendered value, and the placeholders that have no value. */
export interface RenderedValue {
  readonly value: unknown
  readonly unresolved: ReadonlySet<string>
}

/** The placeholders in a value, without `${` and `}`, in order of first appearance. */
export const findPlaceholders = (value: unknown): ReadonlyArray<string> => [
  ...renderPlaceholders(value, () => undefined).unresolved
]

/**
 * Replaces the placeholders in the strings of a value (spec §8.5, cases 205–209). A string that is one placeholder
 * becomes the value with its type; inside a longer string the value becomes text. Keys stay unchanged, and values are
 * not rendered again. A placeholder without a value stays unchanged.
 */
export const renderPlaceholders = (value: unknown, lookup: (placeholder: string) => unknown): RenderedValue => {
  const unresolved = new Set<string>()
  const resolve = (text: string, literal: string): unknown => {
    const found = lookup(text)
    if (found !== undefined) return found
    unresolved.add(text)
    return literal
  }
  const walk = (node: unknown, depth: number): unknown => {
    if (typeof node === "string") {
      const only = wholePlaceholderPattern.exec(node)?.[1]
      if (only !== undefined) return resolve(only, node)
      return node.replace(placeholderPattern, (literal, text: string) => String(resolve(text, literal)))
    }
    if (depth >= maxRenderDepth) return node
    if (Array.isArray(node)) return node.map((item) => walk(item, depth + 1))
    if (isJsonObject(node)) {
      return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, walk(item, depth + 1)]))
    }
    return node
  }
  return { value: walk(value, 0), unresolved }
}
