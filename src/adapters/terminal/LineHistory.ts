import { appendFileSync, chmodSync, createReadStream, mkdirSync, statSync } from "node:fs"
import { stat } from "node:fs/promises"
import { dirname } from "node:path"
import { text as textOf } from "node:stream/consumers"
import { Effect } from "effect"
import { errorMessage, orUndefinedIfMissing } from "../../domain/errorMessage.ts"
import { replaceFile } from "../credentials/replaceFile.ts"
import { escapeForTerminal } from "../../domain/text/escapeForTerminal.ts"

/** The lines of earlier shells, oldest first, and `append`, which gives the reason when it cannot save a line. */
export type LineHistory = NonNullable<Effect.Success<ReturnType<typeof openHistory>>>

export const maxHistoryLines = 500

/** In bytes. A longer line is not kept, and of a longer file only the end is read. */
const maxLineBytes = 4096
const maxFileBytes = 256 * 1024

/** The end of a file that may be missing, and whether the file is longer. */
const readTail = async (file: string) => {
  const { size } = (await stat(file).catch(orUndefinedIfMissing)) ?? { size: 0 }
  const start = Math.max(0, size - maxFileBytes)
  return { text: size === 0 ? "" : await textOf(createReadStream(file, { start, end: size - 1 })), isCut: start > 0 }
}

/** A terminal would interpret the characters of other lines when they are recalled. */
const isKept = (line: string): boolean =>
  line.trim() !== "" && Buffer.byteLength(line) <= maxLineBytes && escapeForTerminal(line) === line

/** Appends a line as one write: the lines of several shells do not mix. */
const appendLine = (file: string, line: string): void => {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) chmodSync(file, 0o600)
  appendFileSync(file, `${line}\n`, { mode: 0o600 })
}

/**
 * Opens a history file, which only its owner can read. It is created with the first line, and shortened to its latest
 * lines when it is opened. A file that cannot be used is reported, and the shell runs without it.
 */
export const openHistory = Effect.fnUntraced(function* (file: string) {
  const tail = yield* Effect.tryPromise({ try: () => readTail(file), catch: errorMessage }).pipe(
    Effect.catch((reason) => Effect.asVoid(Effect.logWarning("shell history not loaded", { file, reason })))
  )
  if (tail === undefined) return undefined
  const { isCut, text } = tail
  const all = text.split("\n").slice(isCut ? 1 : 0, -1)
  const lines = all.filter(isKept).slice(-maxHistoryLines)
  if (isCut || all.length > 2 * maxHistoryLines) {
    yield* Effect.tryPromise({ try: () => replaceFile(file, `${lines.join("\n")}\n`), catch: errorMessage }).pipe(
      Effect.catch((reason) => Effect.logWarning("shell history not shortened", { file, reason }))
    )
  }
  let latest = lines.at(-1)
  const append = (line: string): string | undefined => {
    if (line === latest || !isKept(line)) return undefined
    latest = line
    try {
      appendLine(file, line)
      return undefined
    } catch (error) {
      return errorMessage(error)
    }
  }
  return { lines, append }
})
