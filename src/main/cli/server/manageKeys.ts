import { rm, writeFile } from "node:fs/promises"
import { Clock, Effect, type FileSystem, Result, Schedule, type Scope } from "effect"
import { applyEdits, type JSONPath, modify } from "jsonc-parser"
import { type ApiKeyEntry, decodeApiKeyEntries, generateApiKey } from "../../../adapters/auth/apiKeyEntries.ts"
import { formatIssues, type ValidationIssue } from "../../../domain/validation.ts"
import { CommandFailed, failCommand } from "../../CommandFailed.ts"
import { formatColumns } from "../output/format.ts"
import { print, printError } from "../output/print.ts"
import type { KeyCommandOptions } from "./flags.ts"
import { copyAccess, replaceableFile, replaceFile } from "../../../adapters/credentials/replaceFile.ts"
import { errorMessage, systemErrorCode } from "../../../domain/errorMessage.ts"
import { readTextFile } from "../../config/configFiles.ts"
import { parseJsonc } from "../../config/jsonc.ts"
import { readKeyFile } from "../../config/serverFiles.ts"

const emptyFile = '{\n  "keys": []\n}\n'

/** Time to wait for another command that edits the same file. */
const lockRetry = Schedule.max([Schedule.spaced("100 millis"), Schedule.recurs(50)])

const attempt = <A>(what: string, run: () => Promise<A>) =>
  Effect.tryPromise({ try: run, catch: (error) => new CommandFailed({ message: `${what}: ${errorMessage(error)}` }) })

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

const editText = (text: string, path: JSONPath, value: unknown): string => {
  const eol = text.includes("\r\n") ? "\r\n" : "\n"
  const formattingOptions = { insertSpaces: true, tabSize: 2, eol }
  return applyEdits(text, modify(text, path, value, { isArrayInsertion: value !== undefined, formattingOptions }))
}

/** The entries of a file of API keys. */
const readKeys = (file: string): Effect.Effect<ReadonlyArray<ApiKeyEntry>, CommandFailed, FileSystem.FileSystem> =>
  Effect.mapError(readKeyFile(file), (errors) => new CommandFailed({ message: errors.join("\n") }))

/**
 * Changes a file of API keys at one place, with `undefined` to remove it; comments and all other lines stay. `placeOf`
 * decides on the current entries.
 */
const editKeyFile = Effect.fnUntraced(function* <A>(
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
  yield* attempt(`${given} cannot be written`, () => replaceFile(file, next, copyAccess))
  return change.result
}, Effect.scoped)

/** Digits of the hash that identify a key. */
const idLength = 12

const idOf = ({ hash }: ApiKeyEntry): string => hash.slice(0, idLength)

/** Shortest start of a hash by which a key is found. */
const minIdLength = 8

const makeKey = Effect.fnUntraced(function* ({ expires, names, offices, rights, subject }: KeyCommandOptions) {
  const { entry, key } = yield* generateApiKey(subject, { rights, offices, names }, expires)
  const read = decodeApiKeyEntries({ keys: [entry] })
  // Without a file the position of the entry means nothing.
  const inEntry = ({ issue, path }: ValidationIssue): ValidationIssue => ({ issue, path: path.slice(2) })
  if (Result.isFailure(read)) return yield* failCommand(formatIssues(read.failure.map(inEntry)))
  return { entry, key }
})

const printKey = Effect.fnUntraced(function* (options: KeyCommandOptions) {
  const { entry, key } = yield* makeKey(options)
  yield* printError('Add this to "keys" in the file of --api-keys. The key is shown only once:')
  yield* printError(JSON.stringify(entry))
  yield* print(key)
})

const addKey = Effect.fnUntraced(function* (file: string, options: KeyCommandOptions) {
  const { entry, key } = yield* makeKey(options)
  const hash = entry.hash.replace("sha256:", "")
  yield* editKeyFile(file, true, (entries) =>
    Result.succeed({ path: ["keys", entries.length], value: entry, result: undefined })
  )
  yield* printError(
    `Added key ${hash.slice(0, idLength)} of '${entry.subject}' to ${file}. The key is shown only once:`
  )
  yield* print(key)
})

/** Finds the key to revoke by its subject, or by the start of its hash. */
const findKey = (entries: ReadonlyArray<ApiKeyEntry>, wanted: string): Result.Result<number, string> => {
  const digits = wanted.replace(/^sha256:/, "")
  const isId = new RegExp(`^[0-9a-f]{${minIdLength},64}$`).test(digits)
  const found = entries.flatMap((entry, index) =>
    entry.subject === wanted || (isId && entry.hash.startsWith(digits)) ? [index] : []
  )
  const [index] = found
  if (index === undefined) return Result.fail(`no key has the subject or id '${wanted}'`)
  if (found.length === 1) return Result.succeed(index)
  const ids = entries.filter((_, at) => found.includes(at)).map(idOf)
  return Result.fail(`several keys match '${wanted}': revoke by id: ${ids.join(", ")}`)
}

const revokeKey = Effect.fnUntraced(function* (file: string, wanted: string) {
  const revoked = yield* editKeyFile(file, false, (entries) =>
    Result.flatMap(findKey(entries, wanted), (index) => {
      const entry = entries[index]
      return entry === undefined
        ? Result.fail("the file has changed")
        : Result.succeed({ path: ["keys", index], value: undefined, result: entry })
    })
  )
  yield* printError(
    `Revoked key ${idOf(revoked)} of '${revoked.subject}' in ${file}. A running Server reloads the file.`
  )
})

const listKeys = Effect.fnUntraced(function* (file: string) {
  const entries = yield* readKeys(file)
  const now = yield* Clock.currentTimeMillis
  const rows = entries.map((entry) => {
    const { expiresAt, grants, subject } = entry
    const expiry = expiresAt === undefined ? "never" : new Date(expiresAt).toISOString()
    const isExpired = expiresAt !== undefined && expiresAt <= now
    return [
      idOf(entry),
      subject,
      grants.rights.join(","),
      grants.offices.join(","),
      grants.names.join(","),
      isExpired ? `${expiry} (expired)` : expiry
    ]
  })
  yield* print(
    rows.length === 0 ? "no keys" : formatColumns([["ID", "SUBJECT", "RIGHTS", "OFFICES", "NAMES", "EXPIRES"], ...rows])
  )
})

/** Generates an API key for its file, and prints, adds, lists or revokes entries of the key file of a Server. */
export const manageKeys = Effect.fnUntraced(function* (options: KeyCommandOptions) {
  const { add, key, list, revoke } = options
  if ([add, list, revoke].filter((file) => file !== undefined).length > 1) {
    return yield* failCommand("Give one of --add, --list and --revoke")
  }
  if (key !== undefined && revoke === undefined) return yield* failCommand(`'${key}' needs --revoke FILE`)
  if (add !== undefined) return yield* addKey(add, options)
  if (list !== undefined) return yield* listKeys(list)
  if (revoke === undefined) return yield* printKey(options)
  return key === undefined
    ? yield* failCommand("--revoke needs the subject or id of a key: a2c server key --revoke FILE KEY")
    : yield* revokeKey(revoke, key)
})
