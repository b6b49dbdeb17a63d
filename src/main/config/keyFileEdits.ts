import { randomUUID } from "node:crypto"
import { chmod, chown, rename, rm, stat, writeFile } from "node:fs/promises"
import { Effect, type FileSystem, Result, Schedule, type Scope } from "effect"
import { applyEdits, type JSONPath, modify } from "jsonc-parser"
import { type ApiKeyEntry, decodeApiKeyEntries } from "../../adapters/auth/apiKeyEntries.ts"
import { replaceableFile } from "../../adapters/credentials/replaceFile.ts"
import { CommandFailed, failCommand } from "../CommandFailed.ts"
import { errorMessage, systemErrorCode } from "../../domain/errorMessage.ts"
import { readTextFile } from "./configFiles.ts"
import { parseJsonc } from "./jsonc.ts"
import { readKeyFile } from "./serverFiles.ts"

const emptyFile = '{\n  "keys": []\n}\n'

/** Time to wait for another command that edits the same file. */
const lockRetry = Schedule.max([Schedule.spaced("100 millis"), Schedule.recurs(50)])

const attempt = <A>(what: string, run: () => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: (error) => new CommandFailed({ message: `${what}: ${errorMessage(error)}` }) })

const isMissing = (error: unknown): boolean => systemErrorCode(error) === "ENOENT"

/** Holds the lock of a file as long as the scope: two commands must not overwrite each other's keys. */
const lock = (file: string): Effect.Effect<void, CommandFailed, Scope.Scope> => {
  const lockFile = `${file}.lock`
  const acquire = Effect.tryPromise({
    try: () => writeFile(lockFile, `${process.pid}\n`, { flag: "wx", mode: 0o600 }),
    catch: (error) => ({ isLocked: systemErrorCode(error) === "EEXIST", reason: errorMessage(error) })
  }).pipe(
    Effect.retry({ schedule: lockRetry, while: ({ isLocked }) => isLocked }),
    Effect.mapError(({ isLocked, reason }) => {
      const cause = isLocked ? `another command edits it; delete ${lockFile} if no command runs` : reason
      return new CommandFailed({ message: `${file} cannot be changed: ${cause}` })
    })
  )
  return Effect.asVoid(Effect.acquireRelease(acquire, () => Effect.promise(() => rm(lockFile, { force: true }))))
}

/** Replaces the file atomically. It keeps its owner and mode, so the Server can still read it; a new one gets 0600. */
const replaceKeyFile = async (file: string, text: string): Promise<void> => {
  const current = await stat(file).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    await writeFile(temporary, text, { flag: "wx", mode: 0o600, flush: true })
    if (current !== undefined) {
      const own = await stat(temporary)
      if (own.uid !== current.uid || own.gid !== current.gid) await chown(temporary, current.uid, current.gid)
      await chmod(temporary, current.mode & 0o777)
    }
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

const editText = (text: string, path: JSONPath, value: unknown): string => {
  const eol = text.includes("\r\n") ? "\r\n" : "\n"
  const formattingOptions = { insertSpaces: true, tabSize: 2, eol }
  return applyEdits(text, modify(text, path, value, { isArrayInsertion: value !== undefined, formattingOptions }))
}

/** The entries of a file of API keys. */
export const readKeys = (
  file: string
): Effect.Effect<ReadonlyArray<ApiKeyEntry>, CommandFailed, FileSystem.FileSystem> =>
  Effect.mapError(readKeyFile(file), (errors) => new CommandFailed({ message: errors.join("\n") }))

/**
 * Changes a file of API keys at one place, with `undefined` to remove it; comments and all other lines stay. `placeOf`
 * decides on the current entries.
 */
export const editKeyFile = Effect.fnUntraced(function* <A>(
  given: string,
  mayCreate: boolean,
  edit: (
    entries: ReadonlyArray<ApiKeyEntry>
  ) => Result.Result<{ readonly path: JSONPath; readonly value: unknown; readonly result: A }, string>
) {
  const file = yield* attempt(`${given} cannot be changed`, () => replaceableFile(given))
  yield* lock(file)
  const found = yield* readTextFile(file)
  const isNew =
    mayCreate && (Result.isSuccess(found) ? found.success.trim() === "" : found.failure === "file not found")
  const entries = isNew ? [] : yield* readKeys(file)
  const change = yield* Effect.mapError(
    Effect.fromResult(edit(entries)),
    (reason) => new CommandFailed({ message: `${given}: ${reason}` })
  )
  const text = isNew || Result.isFailure(found) ? emptyFile : found.success
  const next = editText(text, change.path, change.value)
  const decoded = decodeApiKeyEntries(parseJsonc(next).value)
  if (Result.isFailure(decoded)) return yield* failCommand(`${given} cannot be changed: ${decoded.failure[0]?.issue}`)
  yield* attempt(`${given} cannot be written`, () => replaceKeyFile(file, next))
  return change.result
}, Effect.scoped)
