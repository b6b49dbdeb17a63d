import { constants } from "node:fs"
import { open } from "node:fs/promises"
import { Effect, Result, Semaphore } from "effect"
import { errorMessage, orUndefinedIfMissing } from "../../domain/errorMessage.ts"
import { isJsonObject, type JsonObject, parseJson } from "../../domain/json.ts"
import { replaceFile } from "./replaceFile.ts"

const othersMask = 0o077

/** Windows has no file modes; it protects the folders of a user itself. */
const hasFileModes = process.platform !== "win32"

/**
 * Reads a JSON file of at most `maxBytes`, which may be missing: the value is then `undefined`. Fails when others have access
 * to the file, or when it is not JSON; the reasons quote no part of it.
 */
export const readOwnerOnlyFile = async (file: string, maxBytes: number): Promise<Result.Result<unknown, string>> => {
  // Opened without waiting: a pipe may have no writer.
  await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK).catch(orUndefinedIfMissing)
  if (handle === undefined) return Result.succeed(undefined)
  const stats = await handle.stat()
  if (!stats.isFile()) return Result.fail("it is not a regular file")
  const { mode, size } = stats
  if (hasFileModes && (mode & othersMask) !== 0) {
    const rights = (mode & 0o777).toString(8).padStart(4, "0")
    return Result.fail(`others have access to it (mode ${rights}): run chmod 600`)
  }
  if (size > maxBytes) return Result.fail(`it is larger than ${maxBytes} bytes`)
  const value = parseJson(await handle.readFile("utf8"))
  return value === undefined ? Result.fail("it is not JSON") : Result.succeed(value)
}

/** Version of the file format. Files with another version are neither used nor changed. */
const version = 1

/** A change reads the file and replaces it. Between processes the last writer wins. */
const writeLock = Semaphore.makeUnsafe(1)

interface Contents<E> {
  /** In messages: `credentials`. */
  readonly name: string
  /** The member that has the entries by their keys. */
  readonly member: string
  readonly maxBytes: number
  readonly toError: (message: string) => E
}

/**
 * Keeps entries in one JSON file with access for its owner only. A missing file has none; one that others have access to,
 * or that is invalid, is rejected and not overwritten. The errors quote no part of it.
 */
export const makeOwnerOnlyStore = <E>(file: string, { maxBytes, member, name, toError }: Contents<E>) => {
  const unavailable = (action: string, reason: string) => toError(`Cannot ${action} the ${name} in ${file}: ${reason}`)
  const parseEntries = (value: unknown): Result.Result<JsonObject, string> => {
    if (value === undefined) return Result.succeed({})
    if (!isJsonObject(value)) return Result.fail(`it is not a file of ${name}`)
    if (value["version"] !== version) return Result.fail(`its version is not ${version}`)
    const entries = value[member]
    return isJsonObject(entries) ? Result.succeed(entries) : Result.fail(`"${member}" must be an object`)
  }
  const read = <A>(decode: (entries: JsonObject) => Result.Result<A, string>): Effect.Effect<A, E> =>
    Effect.tryPromise({ try: () => readOwnerOnlyFile(file, maxBytes), catch: errorMessage }).pipe(
      Effect.flatMap((value) => Effect.fromResult(Result.flatMap(Result.flatMap(value, parseEntries), decode))),
      Effect.mapError((reason) => unavailable("read", reason))
    )
  return {
    read,
    /** Replaces the entries by those that `edit` gives; `undefined` changes nothing. */
    update: <A>(
      decode: (entries: JsonObject) => Result.Result<A, string>,
      edit: (value: A) => JsonObject | undefined
    ): Effect.Effect<void, E> =>
      Effect.gen(function* () {
        const entries = edit(yield* read(decode))
        if (entries === undefined) return
        const text = `${JSON.stringify({ version, [member]: entries }, null, 2)}\n`
        if (Buffer.byteLength(text) > maxBytes) {
          return yield* Effect.fail(unavailable("write", `they exceed ${maxBytes} bytes`))
        }
        yield* Effect.tryPromise({
          try: () => replaceFile(file, text),
          catch: (error) => unavailable("write", errorMessage(error))
        })
      }).pipe(Effect.uninterruptible, (whole) => writeLock.withPermit(whole))
  }
}
