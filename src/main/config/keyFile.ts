import { resolve } from "node:path"
import { Effect, Equal, type FileSystem, Result, Stream } from "effect"
import { type KeyEntry, readKeyEntries } from "../../adapters/auth/keyEntries.ts"
import { type Finding, readText, spellFinding } from "./files.ts"
import { readJsonc } from "./jsonc.ts"
import { changesOf, firstLook, hangups } from "./watching.ts"

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

/**
 * The entries of the file whenever it may have changed since `known` was read of it. A faulty edit is logged and changes
 * nothing.
 */
export const keyFileUpdates = (
  file: string,
  known: ReadonlyArray<KeyEntry>
): Stream.Stream<ReadonlyArray<KeyEntry>, never, FileSystem.FileSystem> => {
  const changes = Stream.merge(Stream.unwrap(changesOf([resolve(file)])), hangups)
  const read = (isKnown: (entries: ReadonlyArray<KeyEntry>) => boolean) =>
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
        isKnown(entries)
          ? Effect.succeed([])
          : Effect.as(Effect.logInfo("API keys read again", { keys: entries.length }), [entries])
    })
  return Stream.merge(
    Stream.mapEffect(firstLook, () => read((entries) => Equal.equals(entries, known))),
    Stream.mapEffect(changes, () => read(() => false))
  ).pipe(Stream.flatMap(Stream.fromIterable))
}
