/** In characters. A peer can send much larger texts; a log line quotes their start. */
const maxLogTextLength = 16 * 1024

/** Members of an array or object that a log line quotes. */
export const maxLogMembers = 1000

/** In characters. Longer words at the end of a truncated text keep their start. */
const maxCutWordLength = 1024

/** Removes the last word of a text: patterns recognise no part of a secret. */
const removeLastWord = (text: string): string => {
  const { length: cut } = /\S*$/.exec(text.slice(-maxCutWordLength))?.[0] ?? ""
  return text.slice(0, text.length - cut)
}

/** Redacts a text for the log, truncated before: the cost depends on the part that is logged. */
export const truncateLogText = (text: string, redact: (text: string) => string): string =>
  text.length <= maxLogTextLength ? redact(text) : `${redact(removeLastWord(text.slice(0, maxLogTextLength)))}…`

/** Shortens a text that a client chose for the audit and the office page. */
export const truncateText = (text: string): string => (text.length <= 256 ? text : `${text.slice(0, 255)}…`)
