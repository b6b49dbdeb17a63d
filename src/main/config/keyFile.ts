import { resolve } from "node:path"
import { Effect, type FileSystem, Result, Stream } from "effect"
import { type KeyEntry, readKeyEntries } from "../../adapters/auth/keyEntries.ts"
import { type Finding, readText, spellFinding } from "./files.ts"
import { readJsonc } from "./jsonc.ts"
import { changesOf, hangups } from "./watching.ts"

/** Faults that are said of a file; a file of keys may have thousands of entries, all with the same slip. */
const mostFaults = 10

/** Reads a file of API keys: JSON with comments. Fails with every fault and its place, as compilers write them. */
export const readKeyFile = Effect.fnUntraced(function* (
  file: string
): Effect.fn.Return<ReadonlyArray<KeyEntry>, ReadonlyArray<string>, FileSystem.FileSystem> {
  const said = (faults: ReadonlyArray<Omit<Finding, "file" | "severity">>) =>
    Effect.fail(
      faults.slice(0, mostFaults).map((fault) => spellFinding({ ...fault, file, severity: "error" }))
    )
  const text = yield* readText(file)
  if (Result.isFailure(text)) return yield* said([{ path: [], issue: text.failure }])
  const { faults, locate, value } = readJsonc(text.success)
  if (faults.length > 0) return yield* said(faults)
  const entries = readKeyEntries(value)
  return Result.isSuccess(entries)
    ? entries.success
    : yield* said(entries.failure.map((fault) => ({ ...fault, ...locate(fault.path) })))
})

/** The entries of the file whenever it may have changed. A faulty edit is logged and changes nothing. */
export const keyFileUpdates = (
  file: string
): Stream.Stream<ReadonlyArray<KeyEntry>, never, FileSystem.FileSystem> =>
  Stream.merge(Stream.unwrap(changesOf([resolve(file)])), hangups).pipe(
    Stream.mapEffect(() =>
      Effect.matchEffect(readKeyFile(file), {
        onFailure: (faults) =>
          Effect.as(
            Effect.andThen(
              Effect.forEach(faults, (fault) => Effect.logError(fault), { discard: true }),
              Effect.logError("API keys not changed: their file has errors")
            ),
            []
          ),
        onSuccess: (entries) =>
          Effect.as(Effect.logInfo("API keys read again", { keys: entries.length }), [entries])
      })
    ),
    Stream.flatMap(Stream.fromIterable)
  )
