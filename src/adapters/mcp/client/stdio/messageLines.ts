import { type JsonNesting, makeJsonNesting } from "./JsonNesting.ts"
import { newline } from "./LineSplitter.ts"

/** What a line is: the `last` line of a message, a line that is not part of one, or one that would exceed the limit. */
type MessageLine = "open" | "last" | "other" | "too_long"

/** The beginning of a message or a batch, which may be cut. */
const messageStart = /^\s*(?:\[\s*)?(?:\{\s*(?:"(?:jsonrpc|id|method|params|result|error)"\s*(?::|$)|$)|$)/

/** A message is cut anywhere, but a printer ends lines of an object or list only here. */
const breakPattern = /[{[,]\s*$/

/** Characters that show the start of a message. */
const startLength = 200

interface MessageLines {
  readonly isOpen: () => boolean
  /** Adds a line that is not a message. Lines of the type `other` and `too_long` are not added. */
  readonly push: (line: string) => MessageLine
  /** Gives the lines and removes them. */
  readonly take: () => string
  /** The nesting after the lines. */
  readonly nesting: () => JsonNesting
}

/** Joins the lines of a message that a server prints over several lines. Each character is read once. */
export const makeMessageLines = (maxLength: number): MessageLines => {
  let lines: Array<string> = []
  let length = 0
  let nesting = makeJsonNesting()
  const isIndented = () => /^\s/.test(lines[1] ?? "")

  const push = (line: string): MessageLine => {
    if (lines.length === 0 && !breakPattern.test(line)) return "other"
    // A new message: the members of an object that is printed with indentation are indented.
    if (isIndented() && /^[{[]/.test(line)) return "other"
    if (length < startLength && !messageStart.test([...lines, line].join("\n").slice(0, startLength))) return "other"
    if (length + line.length > maxLength) return "too_long"
    const next = nesting.fork()
    const state = next.push(Buffer.from(`${line}\n`))
    if (state !== "open" && state !== "complete") return "other"
    lines.push(line)
    length += line.length
    nesting = next
    return state === "open" ? "open" : "last"
  }

  return {
    isOpen: () => lines.length > 0,
    push,
    take: () => {
      const text = lines.join("\n")
      lines = []
      length = 0
      nesting = makeJsonNesting()
      return text
    },
    nesting: () => nesting.fork()
  }
}

const closers: ReadonlySet<number | undefined> = new Set(Buffer.from("}]"))

/**
 * Watches for JSON that ends with a chunk and without a newline: a server may write no newline after its last message.
 * Reads bytes only when a chunk ends like JSON, and each byte once. `nesting` is that before the line.
 */
export const makeUnendedLine = (maxBytes: number) => {
  let pieces: Array<Uint8Array> = []
  let length = 0
  let unread: Array<Uint8Array> = []
  let nesting: JsonNesting | undefined
  /** Gives the line when it is complete. */
  return (chunk: Uint8Array, nestingBefore: () => JsonNesting): Uint8Array | undefined => {
    const end = chunk.lastIndexOf(newline)
    if (end >= 0) {
      pieces = []
      length = 0
      unread = []
      nesting = undefined
    }
    const piece = chunk.subarray(end + 1)
    length += piece.length
    if (length > maxBytes) {
      pieces = []
      unread = []
      return undefined
    }
    pieces.push(piece)
    unread.push(piece)
    if (!closers.has(piece.at(-1))) return undefined
    nesting ??= nestingBefore()
    const read = nesting
    const states = unread.map((bytes) => read.push(bytes))
    unread = []
    return states.at(-1) === "complete" ? Buffer.concat(pieces) : undefined
  }
}
