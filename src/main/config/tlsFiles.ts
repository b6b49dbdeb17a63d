import { resolve } from "node:path"
import { Effect, type FileSystem, Result, Stream } from "effect"
import type { TlsIdentity, TlsOptions } from "../../adapters/http/tlsServer.ts"
import { CommandFailed } from "../cli/CommandFailed.ts"
import { readTextFile } from "./configFiles.ts"
import { reloadOnChange } from "./fileChanges.ts"

/** Paths of a certificate and its key, both PEM. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

const readPem = Effect.fnUntraced(function* (file: string) {
  const text = yield* readTextFile(file)
  return Result.isSuccess(text)
    ? text.success
    : yield* new CommandFailed({ message: `Invalid certificate: ${file}: ${text.failure}` })
})

const readTlsIdentity = ({ cert, key }: TlsFiles): Effect.Effect<TlsIdentity, CommandFailed, FileSystem.FileSystem> =>
  Effect.all({ cert: readPem(cert), key: readPem(key) })

/** Reads a certificate and its key, and again on every change. Files that cannot be read are logged. */
export const watchTlsFiles = Effect.fnUntraced(function* (
  files: TlsFiles
): Effect.fn.Return<TlsOptions, CommandFailed, FileSystem.FileSystem> {
  const context = yield* Effect.context<FileSystem.FileSystem>()
  const read = readTlsIdentity(files)
  const current = yield* read
  const updates = reloadOnChange([resolve(files.cert), resolve(files.key)], current, read, ({ message }) =>
    Effect.logError(message)
  )
  return { ...current, updates: Stream.provideContext(updates, context) }
})
