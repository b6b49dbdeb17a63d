import { isJsonObject } from "../json.ts"

/** How deep a configuration value may be nested below `server_parameters` (spec §8.5). */
export const maxRenderDepth = 10

/** What a placeholder, the text between `${` and `}`, refers to. */
export type PlaceholderReference =
  /** `input:id`: a value the configuration asks for. */
  | { readonly _tag: "Input"; readonly id: string }
  /** `env:NAME` or `env:NAME:-fallback`: a variable of the Computer's environment. */
  | { readonly _tag: "Environment"; readonly name: string; readonly fallback: string | undefined }
  /** Anything else, such as `userHome`: a variable that the host defines. */
  | { readonly _tag: "Variable"; readonly name: string }

const placeholderSource = String.raw`\$\{(input:[^}]+|[^{}]+)\}`
const placeholderPattern = new RegExp(placeholderSource, "g")
const wholePlaceholderPattern = new RegExp(`^${placeholderSource}$`)

/** Reads what stands between `${` and `}`. */
export const parsePlaceholder = (text: string): PlaceholderReference => {
  const [, kind, rest = ""] = /^(input|env):(.+)$/s.exec(text) ?? []
  if (kind === "input") return { _tag: "Input", id: rest }
  if (kind === undefined) return { _tag: "Variable", name: text }
  const [, name = rest, fallback] = /^(.*?):-(.*)$/s.exec(rest) ?? []
  return { _tag: "Environment", name, fallback }
}

/** A configuration value with its placeholders replaced, and those nobody could replace. */
export interface RenderedValue {
  readonly value: unknown
  readonly unresolved: ReadonlySet<string>
}

/** The placeholders in a value, without `${` and `}`, in order of first appearance. Only these need a value. */
export const findPlaceholders = (value: unknown): ReadonlyArray<string> => [
  ...renderPlaceholders(value, () => undefined).unresolved
]

/**
 * Replaces every placeholder in the texts of a value. A text that is one placeholder becomes the value itself and
 * keeps its type, one inside a longer text is spliced in; keys are left alone and nothing is rendered twice. What
 * `lookup` does not know stays as it is written (spec §8.5, cases 205–209).
 */
export const renderPlaceholders = (
  value: unknown,
  lookup: (placeholder: string) => unknown
): RenderedValue => {
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
