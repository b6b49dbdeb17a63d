import { Clock, Effect, Result } from "effect"
import { type ApiKeyEntry, decodeApiKeyEntries, generateApiKey } from "../../../adapters/auth/apiKeyEntries.ts"
import { type ValidationIssue, formatIssues } from "../../../domain/validation.ts"
import { editKeyFile, readKeys } from "../../config/keyFileEdits.ts"
import { failCommand } from "../../CommandFailed.ts"
import { formatColumns } from "../output/format.ts"
import { print, printError } from "../output/print.ts"
import type { KeyCommandOptions } from "./flags.ts"

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
