import { newline } from "./LineSplitter.ts"

/** Where a text of JSON stands: `other` is not one object or list. */
interface JsonNesting {
  readonly state: "blank" | "open" | "complete" | "other"
  readonly depth: number
  readonly isInString: boolean
  readonly isEscaped: boolean
}

const noJson: JsonNesting = { state: "blank", depth: 0, isInString: false, isEscaped: false }

/** Follows the nesting over the next piece of a text, whose characters may be the bytes of one. */
const followNesting = (before: JsonNesting, piece: string): JsonNesting => {
  let { depth, isEscaped, isInString, state } = before
  for (const character of piece) {
    const isOpening = character === "{" || character === "["
    if (isEscaped) isEscaped = false
    else if (isInString) {
      isEscaped = character === "\\"
      isInString = character !== '"'
    } else if (state === "open") {
      isInString = character === '"'
      if (isOpening) depth++
      else if ((character === "}" || character === "]") && --depth === 0) state = "complete"
    } else if (character.trim() !== "") {
      if (state !== "blank" || !isOpening) return { ...noJson, state: "other" }
      state = "open"
      depth = 1
    }
  }
  return { depth, isEscaped, isInString, state }
}

/** What a line is: the `last` line of a message, a line that is not part of one, or one that would exceed the limit. */
type MessageLine = "open" | "last" | "other" | "too_long"

/** The beginning of a message or a batch, which may be cut. */
const messageStart = /^\s*(?:\[\s*)?(?:\{\s*(?:"(?:jsonrpc|id|method|params|result|error)"\s*(?::|$)|$)|$)/

/** A message is cut anywhere, but a printer ends lines of an object or list only here. */
const breakPattern = /[{[,]\s*$/

/** Characters that show the start of a message. */
const startLength = 200

/** Joins the lines of a message that a server prints over several lines. Each character is read once. */
export const makeMessageLines = (maxLength: number) => {
  let lines: Array<string> = []
  let length = 0
  let nesting = noJson
  const isIndented = () => /^\s/.test(lines[1] ?? "")
  return {
    isOpen: () => lines.length > 0,
    /** Adds a line that is not a message. Lines of the type `other` and `too_long` are not added. */
    push: (line: string): MessageLine => {
      if (lines.length === 0 && !breakPattern.test(line)) return "other"
      // A new message: the members of an object that is printed with indentation are indented.
      if (isIndented() && /^[{[]/.test(line)) return "other"
      if (length < startLength && !messageStart.test([...lines, line].join("\n").slice(0, startLength))) return "other"
      if (length + line.length > maxLength) return "too_long"
      const next = followNesting(nesting, line)
      if (next.isInString || next.state === "blank" || next.state === "other") return "other"
      lines.push(line)
      length += line.length
      nesting = next
      return next.state === "open" ? "open" : "last"
    },
    /** Gives the lines and removes them. */
    take: (): string => {
      const text = lines.join("\n")
      lines = []
      length = 0
      nesting = noJson
      return text
    },
    /** The nesting after the lines. */
    nesting: () => nesting
  }
}

/**
 * Watches for JSON that ends with a chunk and without a newline: a server may write no newline after its last message.
 * Reads bytes only when a chunk ends like JSON, and each byte once. `before` gives the nesting before the line.
 */
export const makeUnendedLine = (maxBytes: number, before: () => JsonNesting) => {
  /** Bytes as Latin-1. Appending to a text does not copy it. */
  let line = ""
  let unread = ""
  let nesting: JsonNesting | undefined
  /** Gives the line when it is complete. */
  return (chunk: Buffer): Uint8Array | undefined => {
    const end = chunk.lastIndexOf(newline)
    if (end >= 0) {
      line = ""
      unread = ""
      nesting = undefined
    }
    if (line.length > maxBytes) return undefined
    const piece = chunk.toString("latin1", end + 1)
    line += piece
    unread += piece
    if (!/[}\]]$/.test(piece)) return undefined
    nesting = followNesting(nesting ?? before(), unread)
    unread = ""
    return nesting.state === "complete" ? Buffer.from(line, "latin1") : undefined
  }
}
