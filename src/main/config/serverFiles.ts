import { resolve } from "node:path"
import { Effect, type FileSystem, Stream } from "effect"
import { type ApiKeyEntry, decodeApiKeyEntries } from "../../adapters/auth/apiKeyEntries.ts"
import { identityProblem } from "../../adapters/http/tlsServer.ts"
import { failCommand } from "../CommandFailed.ts"
import { jsonc, readDecodedFile, readTextFile } from "./documents.ts"
import { reloadOnChange } from "./fileChanges.ts"

/** Reads a file of API keys: JSON with comments. Fails with formatted diagnostics. */
export const readKeyFile = (file: string) => readDecodedFile(file, jsonc, decodeApiKeyEntries)

/** Emits the entries of a file of API keys after every change. A file with errors is logged, and emits nothing. */
export const watchKeyFile = (file: string, initialEntries: ReadonlyArray<ApiKeyEntry>) =>
  reloadOnChange([resolve(file)], initialEntries, readKeyFile(file), (errors) =>
    Effect.andThen(
      Effect.forEach(errors, (error) => Effect.logError(error), { discard: true }),
      Effect.logError("API keys not reloaded", { reason: "invalid" })
    )
  ).pipe(Stream.tap((entries) => Effect.logInfo("API keys reloaded", { keys: entries.length })))

const readPem = (file: string) =>
  Effect.catch(readTextFile(file), (reason) => failCommand(`Invalid certificate: ${file}: ${reason}`))

/** Reads a certificate and its key, both PEM, and again on every change. Files that cannot be read are logged. */
export const watchTlsFiles = Effect.fnUntraced(function* (files: { readonly cert: string; readonly key: string }) {
  const context = yield* Effect.context<FileSystem.FileSystem>()
  const read = Effect.filterOrElse(
    Effect.all({ cert: readPem(files.cert), key: readPem(files.key) }),
    (identity) => identityProblem(identity) === undefined,
    (identity) =>
      failCommand(
        `Invalid certificate: ${identityProblem(identity)} (--tls-cert ${files.cert}, --tls-key ${files.key})`
      )
  )
  const current = yield* read
  const updates = reloadOnChange([resolve(files.cert), resolve(files.key)], current, read, ({ message }) =>
    Effect.logError("certificate reload failed, keeping the current certificate", { reason: message })
  )
  return { ...current, updates: Stream.provideContext(updates, context) }
})
