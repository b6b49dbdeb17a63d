import { escapeForTerminal, escapeLinesForTerminal, stripAnsi } from "../../../domain/text/escapeForTerminal.ts"

/** Shows a foreign text in one line: without control sequences, and with escapes for characters that hide or reorder it. */
export const visibleLine = (text: string): string => escapeForTerminal(stripAnsi(text))

/** As {@link visibleLine}, with line breaks and tabs. */
export const visibleText = (text: string): string => escapeLinesForTerminal(stripAnsi(text))

/** Truncates a text for a line; does not cut a surrogate pair. */
export const truncate = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length).replace(/[\ud800-\udbff]$/, "")}…`

/** Splits a text into parts of at most this length, at line breaks where possible. */
export const splitText = (text: string, length: number): ReadonlyArray<string> =>
  text.match(new RegExp(`[^]{1,${length}}$|[^]{0,${length - 1}}\\n|[^]{1,${length}}`, "g")) ?? []
