import { randomBytes } from "node:crypto"
import { Effect, Result, Schema } from "effect"
import { definedOnly } from "../../domain/objects.ts"
import { type Grants, type Identity, Right } from "../../domain/model/Identity.ts"
import { toValidationIssues, type ValidationIssue } from "../../domain/validation.ts"
import { sha256 } from "./secrets.ts"

/** An API key as it is stored: by its hash. */
export interface ApiKeyEntry extends Omit<Identity, "isShared"> {
  /** SHA-256 of the key, in lower-case hexadecimal digits. */
  readonly hash: string
}

/** Random bytes of a new key. 256 bits cannot be guessed, so a fast hash is enough. */
const keyBytes = 32

/** Shortest key that an operator may choose, in characters: random ones have 128 bits or more. */
const minKeyLength = 32

/** Limits of a key file. */
const maxTextLength = 256
const maxPatterns = 1000
const maxEntries = 100_000

const Subject = Schema.String.check(
  Schema.isPattern(/^[^\p{Cc}]+$/u, { message: "Expected a text without control characters" }),
  Schema.isMaxLength(maxTextLength)
)

const Patterns = Schema.Array(Schema.String.check(Schema.isNonEmpty(), Schema.isMaxLength(maxTextLength))).check(
  Schema.isMaxLength(maxPatterns)
)

/** True for a date, or a time with its zone: a file must mean the same on every machine. */
const isTimestamp = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text) &&
  // `Date` moves February 31 into March.
  new Date(text.slice(0, 10)).getUTCDate() === Number(text.slice(8, 10)) &&
  Number.isFinite(Date.parse(text))

const Timestamp = Schema.String.check(
  Schema.makeFilter((text) => isTimestamp(text) || "Expected a moment like 2030-01-31 or 2030-01-31T12:00:00Z")
)

const hashPattern = /^sha256:[0-9a-f]{64}$/

const EncodedKeyEntry = Schema.Struct({
  subject: Subject,
  hash: Schema.String.check(
    Schema.isPattern(hashPattern, { message: "Expected 'sha256:' and 64 hexadecimal digits in lower case" })
  ),
  rights: Schema.Array(Right).check(Schema.isMaxLength(maxPatterns)),
  offices: Patterns,
  names: Patterns,
  expires: Schema.optionalKey(Timestamp)
})
type EncodedKeyEntry = typeof EncodedKeyEntry.Type

export const KeyFile = Schema.Struct({ keys: Schema.Array(EncodedKeyEntry).check(Schema.isMaxLength(maxEntries)) })

// A misspelled member could grant too much, so unknown members are errors.
const decodeFile = Schema.decodeUnknownResult(KeyFile, { errors: "all", onExcessProperty: "error" })

const entryOf = ({ expires, hash, names, offices, rights, subject }: EncodedKeyEntry): ApiKeyEntry => ({
  subject,
  hash: hash.replace("sha256:", ""),
  grants: { rights, offices, names },
  expiresAt: expires === undefined ? undefined : Date.parse(expires)
})

/** Entries that repeat the key of an earlier one. */
const findDuplicates = (entries: ReadonlyArray<ApiKeyEntry>): ReadonlyArray<ValidationIssue> => {
  const seen = new Set<string>()
  return entries.flatMap(({ hash }, index) => {
    const known = seen.has(hash)
    seen.add(hash)
    return known ? [{ path: ["keys", index, "hash"], issue: "duplicate key" }] : []
  })
}

/** Decodes the JSON of a key file: `{"keys": [{subject, hash, rights, offices, names, expires?}]}`. */
export const decodeApiKeyEntries = (
  value: unknown
): Result.Result<ReadonlyArray<ApiKeyEntry>, ReadonlyArray<ValidationIssue>> => {
  const decoded = Result.mapError(decodeFile(value), toValidationIssues)
  const entries = Result.map(decoded, ({ keys }) => keys.map(entryOf))
  return Result.filterOrFail(entries, (found) => findDuplicates(found).length === 0, findDuplicates)
}

export const hashApiKey = (key: string): string => sha256(key).toString("hex")

/** Grants of keys from flags: members only. An operator needs a key from a file. */
const memberGrants: Grants = { rights: ["agent", "computer"], offices: ["*"], names: ["*"] }

const isSubject = Schema.is(Subject)

const parseSimpleKey = (pair: string): Result.Result<ApiKeyEntry, string> => {
  const at = pair.indexOf("=")
  const subject = pair.slice(0, Math.max(at, 0)).trim()
  const key = pair.slice(at + 1).trim()
  // The message must not quote the text, which may be a key.
  if (at < 0 || !isSubject(subject)) return Result.fail("Expected NAME=KEY, separated by commas")
  if (key.startsWith("sha256:") && !hashPattern.test(key)) {
    return Result.fail(`The hash of '${subject}' must be 'sha256:' and 64 hexadecimal digits in lower case`)
  }
  if (key.length < minKeyLength) {
    return Result.fail(`The key of '${subject}' has fewer than ${minKeyLength} characters: it can be guessed`)
  }
  const hash = key.startsWith("sha256:") ? key.replace("sha256:", "") : hashApiKey(key)
  return Result.succeed({ subject, hash, grants: memberGrants, expiresAt: undefined })
}

/** Parses `NAME=KEY,NAME=KEY`, in plain or as `sha256:…`: keys of Agents and Computers for every office. */
export const parseSimpleKeys = (text: string): Result.Result<ReadonlyArray<ApiKeyEntry>, string> => {
  const pairs = text.split(",").filter((pair) => pair.trim() !== "")
  const entries = Result.all(pairs.map(parseSimpleKey))
  const isUnique = (found: ReadonlyArray<ApiKeyEntry>) => findDuplicates(found).length === 0
  return Result.filterOrFail(entries, isUnique, () => "Two of them are the same key")
}

/** Makes a key and its entry for a key file. The key is not stored anywhere. */
export const generateApiKey = (
  subject: string,
  { names, offices, rights }: Grants,
  expires: string | undefined
): Effect.Effect<{ readonly key: string; readonly entry: EncodedKeyEntry }> =>
  Effect.sync(() => {
    const key = `a2c_${randomBytes(keyBytes).toString("base64url")}`
    const hash = `sha256:${hashApiKey(key)}`
    return { key, entry: { subject, hash, rights, offices, names, ...definedOnly({ expires }) } }
  })
