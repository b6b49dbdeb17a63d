import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode
} from "jsonc-parser"
import type { Fault } from "../../domain/explain.ts"

/** A place in a file, both counted from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

/** A JSON text with comments, as people write configurations. */
export interface JsoncDocument {
  /** What it says; meaningless while there are faults. */
  readonly value: unknown
  readonly faults: ReadonlyArray<Fault & Position>
  /** Where a value stands, or the innermost one around it that exists. */
  readonly locate: (path: ReadonlyArray<PropertyKey>) => Position
}

const positionIn =
  (text: string) =>
  (offset: number): Position => {
    const before = text.slice(0, offset)
    const start = before.lastIndexOf("\n") + 1
    return { line: before.split("\n").length, column: offset - start + 1 }
  }

/** `InvalidSymbol` in words. */
const spell = ({ error }: ParseError): string =>
  `not JSON: ${printParseErrorCode(error)
    .replaceAll(/([A-Z])/g, " $1")
    .trim()
    .toLowerCase()}`

/** Each error once: a text that ends too soon lacks the same thing at every level that is open. */
const distinct = (errors: ReadonlyArray<ParseError>): ReadonlyArray<ParseError> =>
  errors.filter(
    ({ error, offset }, index) =>
      errors.findIndex((other) => other.error === error && other.offset === offset) === index
  )

/** Members that stand twice in the same object: the first would be lost without a word. */
const repeated = (
  node: Node,
  path: ReadonlyArray<PropertyKey> = []
): ReadonlyArray<Fault & { offset: number }> => {
  const children = node.children ?? []
  if (node.type === "array") return children.flatMap((child, index) => repeated(child, [...path, index]))
  if (node.type !== "object") return []
  const seen = new Set<string>()
  return children.flatMap(({ children: [key, value] = [], offset }) => {
    const name = String(key?.value)
    const twice = seen.has(name) ? [{ path: [...path, name], issue: "stands here twice", offset }] : []
    seen.add(name)
    return [...twice, ...(value === undefined ? [] : repeated(value, [...path, name]))]
  })
}

/** Reads JSON with comments and trailing commas; a byte order mark is skipped. */
export const readJsonc = (given: string): JsoncDocument => {
  const text = given.replace(/^\u{feff}/u, "")
  const at = positionIn(text)
  const errors: Array<ParseError> = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  const start = { line: 1, column: 1 }
  if (root === undefined) {
    return {
      value: undefined,
      faults: [{ path: [], issue: text.trim() === "" ? "the file is empty" : "not JSON", ...start }],
      locate: () => start
    }
  }
  const locate = (path: ReadonlyArray<PropertyKey>): Position => {
    const keys = path.map((key) => (typeof key === "number" ? key : String(key)))
    for (let depth = keys.length; depth > 0; depth--) {
      const node = findNodeAtLocation(root, keys.slice(0, depth))
      if (node !== undefined) return at(node.parent?.type === "property" ? node.parent.offset : node.offset)
    }
    return at(root.offset)
  }
  return {
    value: getNodeValue(root),
    faults: [
      ...distinct(errors).map((error) => ({ path: [], issue: spell(error), ...at(error.offset) })),
      ...repeated(root).map(({ issue, offset, path }) => ({ path, issue, ...at(offset) }))
    ],
    locate
  }
}
