import { isMap, isNode, isScalar, isSeq, LineCounter, parseDocument } from "yaml"
import { Result } from "effect"
import { errorMessage } from "../../domain/errorMessage.ts"
import type { JsoncDocument, Position } from "./jsonc.ts"

const start: Position = { line: 1, column: 1 }

/** Parses YAML 1.2, of which JSON is a part. */
export const parseYaml = (source: string): JsoncDocument => {
  const lines = new LineCounter()
  const at = (offset: number | undefined): Position => {
    const { col, line } = lines.linePos(offset ?? 0)
    return { line: Math.max(line, 1), column: Math.max(col, 1) }
  }
  const document = parseDocument(source, { lineCounter: lines, prettyErrors: false })
  const errors = document.errors.map(({ message, pos: [offset] }) => ({
    path: [],
    issue: `invalid YAML: ${message}`,
    ...at(offset)
  }))
  // Aliases that expand without bound are an error.
  const value = Result.try((): unknown => document.toJS())
  return {
    value: Result.getOrElse(value, () => undefined),
    errors:
      errors.length === 0 && Result.isFailure(value)
        ? [{ path: [], issue: `invalid YAML: ${errorMessage(value.failure)}`, ...start }]
        : errors,
    locate: (path) => {
      let node: unknown = document.contents
      let position = start
      for (const key of path) {
        if (isMap(node)) {
          const pair = node.items.find((item) => isScalar(item.key) && item.key.value === key)
          if (pair === undefined || !isScalar(pair.key)) break
          position = at(pair.key.range?.[0])
          node = pair.value
        } else if (isSeq(node) && typeof key === "number" && isNode(node.items[key])) {
          node = node.items[key]
          position = at(isNode(node) ? node.range?.[0] : undefined)
        } else break
      }
      return position
    }
  }
}
