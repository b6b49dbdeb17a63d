import { isJsonObject } from "../json.ts"

/** How deep a configuration value may be nested below `server_parameters` (spec §8.5). */
export const maxRenderDepth = 10

/** What a placeholder, the text between `${` and `}`, refers to. */
export type Reference =
  /** `input:id`: a value the configuration asks for. */
  | { readonly _tag: "Input"; readonly id: string }
  /** `env:NAME` or `env:NAME:-fallback`: a variable of the Computer's environment. */
  | { readonly _tag: "Environment"; readonly name: string; readonly fallback: string | undefined }
  /** Anything else, such as `userHome`: a variable that the host defines. */
  | { readonly _tag: "Variable"; readonly name: string }

const pattern = String.raw`\$\{(input:[^}]+|[^{}]+)\}`
const placeholder = new RegExp(pattern, "g")
const whole = new RegExp(`^${pattern}$`)

/** Reads what stands between `${` and `}`. */
export const parseReference = (text: string): Reference => {
  const [, kind, rest = ""] = /^(input|env):(.+)$/s.exec(text) ?? []
  if (kind === "input") return { _tag: "Input", id: rest }
  if (kind === undefined) return { _tag: "Variable", name: text }
  const [, name = rest, fallback] = /^(.*?):-(.*)$/s.exec(rest) ?? []
  return { _tag: "Environment", name, fallback }
}

/** A configuration value with its placeholders replaced, and those nobody could replace. */
export interface Rendering {
  readonly value: unknown
  readonly unknown: ReadonlySet<string>
}

/** The placeholders in a value, without `${` and `}`, in order of first appearance. Only these need a value. */
export const placeholders = (value: unknown): ReadonlyArray<string> => [
  ...render(value, () => undefined).unknown
]

/**
 * Replaces every placeholder in the texts of a value. A text that is one placeholder becomes the value itself and
 * keeps its type, one inside a longer text is spliced in; keys are left alone and nothing is rendered twice. What
 * `lookup` does not know stays as it is written (spec §8.5, cases 205–209).
 */
export const render = (value: unknown, lookup: (placeholder: string) => unknown): Rendering => {
  const unknown = new Set<string>()
  const resolve = (text: string, literal: string): unknown => {
    const found = lookup(text)
    if (found !== undefined) return found
    unknown.add(text)
    return literal
  }
  const walk = (node: unknown, depth: number): unknown => {
    if (typeof node === "string") {
      const only = whole.exec(node)?.[1]
      if (only !== undefined) return resolve(only, node)
      return node.replace(placeholder, (literal, text: string) => String(resolve(text, literal)))
    }
    if (depth >= maxRenderDepth) return node
    if (Array.isArray(node)) return node.map((item) => walk(item, depth + 1))
    if (isJsonObject(node)) {
      return Object.fromEntries(Object.entries(node).map(([key, item]) => [key, walk(item, depth + 1)]))
    }
    return node
  }
  return { value: walk(value, 0), unknown }
}
