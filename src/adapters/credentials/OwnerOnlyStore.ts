import { Effect, Result, Semaphore } from "effect"
import { errorMessage } from "../../domain/errorMessage.ts"
import { isJsonObject, type JsonObject } from "../../domain/json.ts"
import { readOwnerOnlyFile } from "./ownerOnlyFile.ts"
import { replaceFile } from "./replaceFile.ts"

/** Version of the file format. Files with another version are neither used nor changed. */
const version = 1

/** A change reads the file and replaces it. Between processes the last writer wins. */
const writeLock = Semaphore.makeUnsafe(1)

/** What a file holds. */
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
  /** Reads the entries, and turns them into values. */
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
