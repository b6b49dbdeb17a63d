import { isJsonObject } from "../json.ts"

/** How deep a configuration value may be nested below `server_parameters` (spec §8.5). */
export const maxRenderDepth = 10

const placeholder = /\$\{input:([^}]+)\}/g
const whole = /^\$\{input:([^}]+)\}$/

/** A configuration value with its placeholders replaced, and the ids nobody defined. */
export interface Rendering {
  readonly value: unknown
  readonly unknown: ReadonlySet<string>
}

/** The ids a value refers to, in order of first appearance. Only these need to be resolved. */
export const referencedInputs = (value: unknown): ReadonlyArray<string> => {
  const ids = new Set<string>()
  render(value, (id) => {
    ids.add(id)
    return undefined
  })
  return [...ids]
}

/**
 * Replaces every `${input:id}` in the texts of a value. A text that is one placeholder becomes the value itself and
 * keeps its type, one inside a longer text is spliced in; keys are left alone and nothing is rendered twice. An
 * undefined id stays as it is written (spec §8.5, cases 205–209).
 */
export const render = (value: unknown, lookup: (id: string) => unknown): Rendering => {
  const unknown = new Set<string>()
  const resolve = (id: string, literal: string): unknown => {
    const found = lookup(id)
    if (found !== undefined) return found
    unknown.add(id)
    return literal
  }
  const walk = (node: unknown, depth: number): unknown => {
    if (typeof node === "string") {
      const id = whole.exec(node)?.[1]
      if (id !== undefined) return resolve(id, node)
      return node.replace(placeholder, (literal, inner: string) => String(resolve(inner, literal)))
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
