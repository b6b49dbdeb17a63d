import { resolve } from "node:path"
import { Effect, Equal, type FileSystem, Result, Stream } from "effect"
import { type ApiKeyEntry, decodeApiKeyEntries } from "../../adapters/auth/apiKeyEntries.ts"
import { type ConfigDiagnostic, readTextFile, formatDiagnostic } from "./configFiles.ts"
import { parseJsonc } from "./jsonc.ts"
import { fileChanges, initialCheck, hangupSignals } from "./fileChanges.ts"

/** Faults that are said of a file; a file of keys may have thousands of entries, all with the same slip. */
const maxReportedErrors = 10

/** Reads a file of API keys: JSON with comments. Fails with every fault and its place, as compilers write them. */
export const readKeyFile = Effect.fnUntraced(function* (
  file: string
): Effect.fn.Return<ReadonlyArray<ApiKeyEntry>, ReadonlyArray<string>, FileSystem.FileSystem> {
  const failWith = (errors: ReadonlyArray<Omit<ConfigDiagnostic, "file" | "severity">>) =>
    Effect.fail(
      errors
        .slice(0, maxReportedErrors)
        .map((error) => formatDiagnostic({ ...error, file, severity: "error" }))
    )
  const text = yield* readTextFile(file)
  if (Result.isFailure(text)) return yield* failWith([{ path: [], issue: text.failure }])
  const { errors, locate, value } = parseJsonc(text.success)
  if (errors.length > 0) return yield* failWith(errors)
  const entries = decodeApiKeyEntries(value)
  return Result.isSuccess(entries)
    ? entries.success
    : yield* failWith(entries.failure.map((error) => ({ ...error, ...locate(error.path) })))
})

/**
 * The entries of the file whenever it may have changed since `known` was read of it. A faulty edit is logged and changes
 * nothing.
 */
export const watchKeyFile = (
  file: string,
  initialEntries: ReadonlyArray<ApiKeyEntry>
): Stream.Stream<ReadonlyArray<ApiKeyEntry>, never, FileSystem.FileSystem> => {
  const changes = Stream.merge(Stream.unwrap(fileChanges([resolve(file)])), hangupSignals)
  const read = (isKnown: (entries: ReadonlyArray<ApiKeyEntry>) => boolean) =>
    Effect.matchEffect(readKeyFile(file), {
      onFailure: (errors) =>
        Effect.as(
          Effect.andThen(
            Effect.forEach(errors, (error) => Effect.logError(error), { discard: true }),
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
    Stream.mapEffect(initialCheck, () => read((entries) => Equal.equals(entries, initialEntries))),
    Stream.mapEffect(changes, () => read(() => false))
  ).pipe(Stream.flatMap(Stream.fromIterable))
}
