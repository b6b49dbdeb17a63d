import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { escapeForTerminal } from "../../domain/text/escapeForTerminal.ts"

/** Assumes two columns for all characters outside ASCII: a short line does no harm. */
const widthOf = (character: string): number => (/^[ -~]$/.test(character) ? 1 : 2)

/** The longest start of a text, or its longest end, that fits into these columns. */
const truncate = (characters: ReadonlyArray<string>, columns: number, side: "start" | "end"): string => {
  const kept: Array<string> = []
  let width = 0
  for (const character of side === "start" ? characters : characters.toReversed()) {
    width += widthOf(character)
    if (width > columns) break
    kept.push(character)
  }
  return (side === "start" ? kept : kept.reverse()).join("")
}

/** Escapes a text as in JSON, without the quotes. */
const escapeQuoted = (text: string): string => escapeForTerminal(JSON.stringify(text).slice(1, -1))

/** The ellipsis may take two columns. */
const ellipsis = '" … "'

/** Below it only the start of a long text is shown. */
const minColumnsForEnds = 24

/**
 * Quotes a foreign text in one line of at most `columns`. Of a longer text it shows the start and the end, quoted
 * separately. The cost depends on the columns, not on the text.
 */
export const quoteForTerminal = (text: string, columns: number): string => {
  const available = columns - 2
  const start = [...escapeQuoted(text.slice(0, columns))]
  if (text.length <= columns && truncate(start, available, "start").length === start.join("").length) {
    return `"${start.join("")}"`
  }
  if (columns < minColumnsForEnds) return `"${truncate(start, available - 2, "start")}"…`
  const each = Math.floor((available - ellipsis.length - 1) / 2)
  const end = [...escapeQuoted(text.slice(-columns))]
  return `"${truncate(start, each, "start")}${ellipsis}${truncate(end, each, "end")}"`
}

const formatScalar = (value: unknown, maxCharacters: number): string =>
  String(JSON.stringify(typeof value === "string" ? value.slice(0, maxCharacters) : value))

type Member = readonly [name: string, value: unknown]

/** The members of an array or object, one by one: a copy of all of them could be large. */
function* membersOf(value: ReadonlyArray<unknown> | JsonObject, maxCharacters: number): Generator<Member, void> {
  if (isJsonObject(value)) {
    for (const key in value) yield [`${formatScalar(key, maxCharacters)}: `, value[key]]
  } else for (const item of value) yield ["", item]
}

/** The lines of indented JSON, one by one. Texts are truncated to `maxCharacters`. */
function* jsonLines([name, value]: Member, maxCharacters: number, indent = "", comma = ""): Generator<string, void> {
  if (!Array.isArray(value) && !isJsonObject(value)) {
    return yield `${indent}${name}${formatScalar(value, maxCharacters)}${comma}`
  }
  const [open, close] = Array.isArray(value) ? "[]" : "{}"
  const members = membersOf(value, maxCharacters)
  let member = members.next()
  if (member.done === true) return yield `${indent}${name}${open}${close}${comma}`
  yield `${indent}${name}${open}`
  while (member.done !== true) {
    const current = member.value
    member = members.next()
    yield* jsonLines(current, maxCharacters, `${indent}  `, member.done === true ? "" : ",")
  }
  yield `${indent}${close}${comma}`
}

function* wrapLine(line: string, columns: number): Generator<string, void> {
  let current = ""
  let width = 0
  for (const character of line) {
    if (width + widthOf(character) > columns && current !== "") {
      yield current
      current = ""
      width = 0
    }
    current += character
    width += widthOf(character)
  }
  yield current
}

/**
 * Formats a foreign JSON value as indented JSON, escaped, in at most `maxLines` lines of at most `columns`. The cost
 * depends on these limits, not on the value; only the names of an object are all read by the engine.
 */
export const formatJsonForTerminal = (value: unknown, columns: number, maxLines: number) => {
  const lines: Array<string> = []
  for (const line of jsonLines(["", value], columns * (maxLines + 1))) {
    for (const part of wrapLine(escapeForTerminal(line), columns)) {
      if (lines.length === maxLines) return { lines, isTruncated: true }
      lines.push(part)
    }
  }
  return { lines, isTruncated: false }
}

/** A foreign value beside its label. */
export interface Field {
  readonly label: string
  readonly value: unknown
  /** Maximum lines of JSON; without it the value is a text in one line. */
  readonly maxLines?: number
}

export const definedFields = (fields: ReadonlyArray<Field>) => fields.filter(({ value }) => value !== undefined)

/** Fields of one line, by their labels; undefined values are left out. */
export const fieldsOf = (values: object): ReadonlyArray<Field> =>
  definedFields(Object.entries(values).map(([label, value]) => ({ label, value })))

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
