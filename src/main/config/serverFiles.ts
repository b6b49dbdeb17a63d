import { resolve } from "node:path"
import { Effect, type FileSystem, Result, Stream } from "effect"
import { type ApiKeyEntry, decodeApiKeyEntries } from "../../adapters/auth/apiKeyEntries.ts"
import { failCommand } from "../cli/CommandFailed.ts"
import { type ConfigDiagnostic, formatDiagnostic, readTextFile } from "./configFiles.ts"
import { reloadOnChange } from "./fileChanges.ts"
import { parseJsonc } from "./jsonc.ts"

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

const readPem = Effect.fnUntraced(function* (file: string) {
  const text = yield* readTextFile(file)
  return Result.isSuccess(text) ? text.success : yield* failCommand(`Invalid certificate: ${file}: ${text.failure}`)
})

/** Reads a certificate and its key, both PEM, and again on every change. Files that cannot be read are logged. */
export const watchTlsFiles = Effect.fnUntraced(function* (files: { readonly cert: string; readonly key: string }) {
  const context = yield* Effect.context<FileSystem.FileSystem>()
  const read = Effect.all({ cert: readPem(files.cert), key: readPem(files.key) })
  const current = yield* read
  const updates = reloadOnChange([resolve(files.cert), resolve(files.key)], current, read, ({ message }) =>
    Effect.logError(message)
  )
  return { ...current, updates: Stream.provideContext(updates, context) }
})
