/** The first error of a JSON text: what stands there, with line and column from 1. */
export interface JsonError {
  readonly line: number
  readonly column: number
  readonly expected: string
}

const literalToken = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// oxlint-disable-next-line no-control-regex -- JSON forbids control characters in strings
const stringToken = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y
const whiteSpace = /[ \t\n\r]*/y

const errorAt = (text: string, offset: number, expected: string): JsonError => {
  const before = text.slice(0, offset)
  return { line: before.split("\n").length, column: offset - before.lastIndexOf("\n"), expected }
}

/** What may stand next, with the expectation that an error states. */
const expectations = {
  value: "a value",
  firstItem: "a value or ]",
  name: 'a name in "double quotes"',
  firstName: 'a name in "double quotes" or }',
  colon: "a colon",
  comma: "a comma, or the closing bracket",
  end: "the end of the text"
}

/** Finds the first error of a JSON text; `undefined` for valid JSON. Does not recurse: deep input is no problem. */
export const findJsonError = (text: string): JsonError | undefined => {
  const open: Array<"{" | "["> = []
  let at = 0
  const take = (token: RegExp): boolean => {
    token.lastIndex = at
    const length = token.exec(text)?.[0].length
    at += length ?? 0
    return length !== undefined
  }
  const afterValue = (): keyof typeof expectations => (open.length === 0 ? "end" : "comma")
  let state: keyof typeof expectations = "value"
  while (true) {
    take(whiteSpace)
    const character = text[at]
    if (character === undefined && state === "end") return undefined
    const closes: boolean =
      (character === "]" && open.at(-1) === "[" && (state === "comma" || state === "firstItem")) ||
      (character === "}" && open.at(-1) === "{" && (state === "comma" || state === "firstName"))
    if (closes) {
      open.pop()
      at += 1
      state = afterValue()
    } else if (state === "value" || state === "firstItem") {
      if (character === "{" || character === "[") {
        open.push(character)
        at += 1
        state = character === "{" ? "firstName" : "firstItem"
      } else if (take(stringToken) || take(literalToken)) state = afterValue()
      else return errorAt(text, at, expectations[state])
    } else if ((state === "name" || state === "firstName") && take(stringToken)) state = "colon"
    else if (state === "colon" && character === ":") {
      at += 1
      state = "value"
    } else if (state === "comma" && character === ",") {
      at += 1
      state = open.at(-1) === "{" ? "name" : "value"
    } else return errorAt(text, at, expectations[state])
  }
}

/** Formats an error for people. */
export const formatJsonError = ({ column, expected, line }: JsonError): string =>
  `line ${line}, column ${column}: expected ${expected}`
