import { resolve } from "node:path"
import { Effect, type FileSystem, Result, Stream } from "effect"
import { type ApiKeyEntry, decodeApiKeyEntries } from "../../adapters/auth/apiKeyEntries.ts"
import { type ConfigDiagnostic, readTextFile, formatDiagnostic } from "./configFiles.ts"
import { parseJsonc } from "./jsonc.ts"
import { reloadOnChange } from "./fileChanges.ts"

/** The maximum number of reported errors: thousands of entries may have the same one. */
const maxReportedErrors = 10

/** Reads a file of API keys: JSON with comments. Fails with formatted diagnostics. */
export const readKeyFile = Effect.fnUntraced(function* (
  file: string
): Effect.fn.Return<ReadonlyArray<ApiKeyEntry>, ReadonlyArray<string>, FileSystem.FileSystem> {
  const failWith = (errors: ReadonlyArray<Omit<ConfigDiagnostic, "file" | "severity">>) =>
    Effect.fail(
      errors.slice(0, maxReportedErrors).map((error) => formatDiagnostic({ ...error, file, severity: "error" }))
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

/** Emits the entries of a file of API keys after every change. A file with errors is logged, and emits nothing. */
export const watchKeyFile = (
  file: string,
  initialEntries: ReadonlyArray<ApiKeyEntry>
): Stream.Stream<ReadonlyArray<ApiKeyEntry>, never, FileSystem.FileSystem> =>
  reloadOnChange([resolve(file)], initialEntries, readKeyFile(file), (errors) =>
    Effect.andThen(
      Effect.forEach(errors, (error) => Effect.logError(error), { discard: true }),
      Effect.logError("API keys not reloaded", { reason: "invalid" })
    )
  ).pipe(Stream.tap((entries) => Effect.logInfo("API keys reloaded", { keys: entries.length })))
