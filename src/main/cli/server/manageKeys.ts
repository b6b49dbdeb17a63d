import { rm, writeFile } from "node:fs/promises"
import { Clock, Effect, Result, Schedule, type Scope } from "effect"
import { applyEdits, type JSONPath, modify } from "jsonc-parser"
import { type ApiKeyEntry, decodeApiKeyEntries, generateApiKey } from "../../../adapters/auth/apiKeyEntries.ts"
import { formatIssues } from "../../../domain/validation.ts"
import { CommandFailed, failCommand, requireSuccess } from "../../CommandFailed.ts"
import { formatColumns } from "../output/format.ts"
import { print, printError } from "../output/print.ts"
import type { KeyCommandOptions } from "./flags.ts"
import { copyAccess, replaceableFile, replaceFile } from "../../../adapters/credentials/replaceFile.ts"
import { errorMessage, systemErrorCode } from "../../../domain/errorMessage.ts"
import { readTextFile } from "../../config/documents.ts"
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

const readKeys = (file: string) =>
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
  const found = yield* Effect.result(readTextFile(file))
  const isNew =
    mayCreate && (Result.isSuccess(found) ? found.success.trim() === "" : found.failure === "file not found")
  const entries = isNew ? [] : yield* readKeys(file)
  const change = yield* requireSuccess(edit(entries), (reason) => `${given}: ${reason}`)
  const text = isNew || Result.isFailure(found) ? emptyFile : found.success
  const next = editText(text, change.path, change.value)
  const decoded = decodeApiKeyEntries(parseJsonc(next).value)
  yield* requireSuccess(decoded, ([first]) => `${given} cannot be changed: ${first?.issue}`)
  yield* attempt(`${given} cannot be written`, () => replaceFile(file, next, copyAccess))
  return change.result
}, Effect.scoped)

/** Digits of the hash that identify a key. */
const idLength = 12

const idOf = ({ hash }: Pick<ApiKeyEntry, "hash">): string => hash.replace("sha256:", "").slice(0, idLength)

/** Shortest start of a hash by which a key is found. */
const minIdLength = 8

const makeKey = Effect.fnUntraced(function* ({ expires, names, offices, rights, subject }: KeyCommandOptions) {
  const { entry, key } = yield* generateApiKey(subject, { rights, offices, names }, expires)
  // Without a file the position of the entry means nothing.
  yield* requireSuccess(decodeApiKeyEntries({ keys: [entry] }), (issues) =>
    formatIssues(issues.map(({ issue, path }) => ({ issue, path: path.slice(2) })))
  )
  return { entry, key }
})

const createKey = Effect.fnUntraced(function* (file: string | undefined, options: KeyCommandOptions) {
  const { entry, key } = yield* makeKey(options)
  if (file !== undefined) {
    yield* editKeyFile(file, true, (entries) =>
      Result.succeed({ path: ["keys", entries.length], value: entry, result: undefined })
    )
  }
  yield* printError(
    file === undefined
      ? `Add this to "keys" in the file of --api-keys. The key is shown only once:\n${JSON.stringify(entry)}`
      : `Added key ${idOf(entry)} of '${entry.subject}' to ${file}. The key is shown only once:`
  )
  yield* print(key)
})

/** Finds the key to revoke by its subject, or by the start of its hash. */
const findKey = (entries: ReadonlyArray<ApiKeyEntry>, wanted: string) => {
  const digits = wanted.replace(/^sha256:/, "")
  const isId = new RegExp(`^[0-9a-f]{${minIdLength},64}$`).test(digits)
  const [found, ...others] = entries
    .map((entry, index) => ({ entry, index }))
    .filter(({ entry: { hash, subject } }) => subject === wanted || (isId && hash.startsWith(digits)))
  if (found === undefined) return Result.fail(`no key has the subject or id '${wanted}'`)
  if (others.length === 0) return Result.succeed(found)
  const ids = [found, ...others].map(({ entry }) => idOf(entry))
  return Result.fail(`several keys match '${wanted}': revoke by id: ${ids.join(", ")}`)
}

const revokeKey = Effect.fnUntraced(function* (file: string, wanted: string) {
  const revoked = yield* editKeyFile(file, false, (entries) =>
    Result.map(findKey(entries, wanted), ({ entry, index }) => ({
      path: ["keys", index],
      value: undefined,
      result: entry
    }))
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
    const { names, offices, rights } = grants
    const lists = [rights, offices, names].map((list) => list.join(","))
    return [idOf(entry), subject, ...lists, isExpired ? `${expiry} (expired)` : expiry]
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
  if (list !== undefined) return yield* listKeys(list)
  if (revoke === undefined) return yield* createKey(add, options)
  return key === undefined
    ? yield* failCommand("--revoke needs the subject or id of a key: a2c server key --revoke FILE KEY")
    : yield* revokeKey(revoke, key)
})
