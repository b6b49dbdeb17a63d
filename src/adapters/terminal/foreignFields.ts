import { formatJsonForTerminal, quoteForTerminal } from "./quoteForTerminal.ts"

/** A foreign value beside its label. */
export interface Field {
  readonly label: string
  readonly value: unknown
  /** Maximum lines of JSON; without it the value is a text in one line. */
  readonly maxLines?: number
}

const gutter = "  | "

/**
 * Formats foreign values in lines of at most `columns`, quoted and escaped, to the right of a gutter and their labels.
 * Nothing in a value reaches the columns of the gutter and of the labels, so no value looks like a part of the question.
 */
export const foreignFields = (fields: ReadonlyArray<Field>, columns: number): ReadonlyArray<string> => {
  const labelWidth = Math.max(...fields.map(({ label }) => label.length)) + 2
  const width = columns - gutter.length - labelWidth
  return fields.flatMap(({ label, maxLines, value }) => {
    const { isTruncated, lines } =
      maxLines === undefined
        ? { isTruncated: false, lines: [quoteForTerminal(String(value), width)] }
        : formatJsonForTerminal(value, width, maxLines)
    return [
      ...lines.map((line, index) => `${gutter}${(index === 0 ? label : "").padEnd(labelWidth)}${line}`),
      ...(isTruncated ? [`${gutter}(the rest is not shown)`] : [])
    ]
  })
}
