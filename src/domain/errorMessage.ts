/** In characters: a message quotes the start of a longer name or text. */
const maxQuotedLength = 256

/** In characters: a message lists the first items of a longer list. */
const maxListedLength = 512

/** Shortens a text of any length for a message. */
export const truncateQuote = (text: string, maxLength = maxQuotedLength): string =>
  text.length > maxLength ? `${text.slice(0, maxLength).toWellFormed()}…` : text

/** Joins the first items of a list of any length for a message, and counts the others: `a, b and 2998 more`. */
export const formatSome = (items: ReadonlyArray<string>, separator = ", "): string => {
  const shown: Array<string> = []
  let length = 0
  for (const item of items) {
    const text = truncateQuote(item)
    length += text.length + separator.length
    if (length > maxListedLength) break
    shown.push(text)
  }
  const others = items.length - shown.length
  return `${shown.join(separator)}${others === 0 ? "" : ` and ${others} more`}`
}

/** The message of an error, the messages of an AggregateError's parts, or any other thrown value as text. */
export const errorMessage = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [...new Set(error.errors.map(errorMessage))].join("; ")
  }
  if (error instanceof Error) return error.message === "" ? error.name : error.message
  try {
    return String(error)
  } catch {
    return "unknown error"
  }
}

/** The code of an error of the system or of Node, such as `ENOENT`. */
export const systemErrorCode = (error: unknown): string | undefined =>
  error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined

/** Catches the error of a missing file, and no other. */
export const orUndefinedIfMissing = (error: unknown): undefined => {
  if (systemErrorCode(error) !== "ENOENT") throw error
}
