import {
  findNodeAtLocation,
  getNodeValue,
  type Node,
  type ParseError,
  parseTree,
  printParseErrorCode
} from "jsonc-parser"
import { Result } from "effect"
import type { ValidationIssue } from "../../domain/validation.ts"

/** A position in a file, counted from 1. */
export interface Position {
  readonly line: number
  readonly column: number
}

export interface JsoncDocument {
  /** The value; meaningless when there are errors. */
  readonly value: unknown
  readonly errors: ReadonlyArray<ValidationIssue & Position>
  /** The position of a value, or of its innermost existing parent. */
  readonly locate: (path: ReadonlyArray<PropertyKey>) => Position
}

const makePositionLookup = (text: string): ((offset: number) => Position) => {
  const starts = [0, ...[...text.matchAll(/\n/g)].map(({ index }) => index + 1)]
  return (offset) => {
    const line = starts.findLastIndex((start) => start <= offset)
    return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 }
  }
}

/** Formats an error code such as `InvalidSymbol` as words. */
const formatParseError = ({ error }: ParseError): string =>
  `invalid JSON: ${printParseErrorCode(error)
    .replaceAll(/([A-Z])/g, " $1")
    .trim()
    .toLowerCase()}`

/** Keeps the first error per position: an incomplete text has one for every open level. */
const firstErrorPerOffset = (errors: ReadonlyArray<ParseError>): ReadonlyArray<ParseError> =>
  [...new Map(errors.toReversed().map((error) => [error.offset, error])).values()].toReversed()

/** Finds duplicate members of objects: the parser would silently drop the first. */
const findDuplicateMembers = (
  node: Node,
  path: ReadonlyArray<PropertyKey> = []
): ReadonlyArray<ValidationIssue & { offset: number }> => {
  const children = node.children ?? []
  if (node.type === "array") return children.flatMap((child, index) => findDuplicateMembers(child, [...path, index]))
  if (node.type !== "object") return []
  const seen = new Set<string>()
  return children.flatMap(({ children: [key, value] = [], offset }) => {
    const name = String(key?.value)
    const twice = seen.has(name) ? [{ path: [...path, name], issue: "duplicate key", offset }] : []
    seen.add(name)
    return [...twice, ...(value === undefined ? [] : findDuplicateMembers(value, [...path, name]))]
  })
}

const startPosition: Position = { line: 1, column: 1 }

const invalidDocument = (issue: string): JsoncDocument => ({
  value: undefined,
  errors: [{ path: [], issue, ...startPosition }],
  locate: () => startPosition
})

/** Parses JSON with comments and trailing commas; skips a byte order mark. */
export const parseJsonc = (source: string): JsoncDocument => {
  const text = source.replace(/^\u{feff}/u, "")
  // The parser recurses: deep nesting exhausts the stack.
  return Result.getOrElse(
    Result.try(() => parseDocument(text)),
    () => invalidDocument("invalid JSON: nested too deep")
  )
}

const parseDocument = (text: string): JsoncDocument => {
  const at = makePositionLookup(text)
  const errors: Array<ParseError> = []
  const root = parseTree(text, errors, { allowTrailingComma: true })
  if (root === undefined) return invalidDocument(text.trim() === "" ? "the file is empty" : "invalid JSON")
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
    errors: [
      ...firstErrorPerOffset(errors).map((error) => ({
        path: [],
        issue: formatParseError(error),
        ...at(error.offset)
      })),
      ...findDuplicateMembers(root).map(({ issue, offset, path }) => ({ path, issue, ...at(offset) }))
    ],
    locate
  }
}
