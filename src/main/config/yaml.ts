import { isMap, isPair, isScalar, LineCounter, parseDocument } from "yaml"
import { Result } from "effect"
import { errorMessage } from "../../domain/errorMessage.ts"
import type { JsoncDocument, Position } from "./jsonc.ts"

const start: Position = { line: 1, column: 1 }

/** Parses YAML 1.2, of which JSON is a part. A value can be located by its key at the top level. */
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
    locate: ([key]) => {
      const { contents } = document
      const pair = isMap(contents)
        ? contents.items.find((item) => isPair(item) && isScalar(item.key) && item.key.value === key)
        : undefined
      return pair !== undefined && isScalar(pair.key) ? at(pair.key.range?.[0]) : start
    }
  }
}
