import { resolve } from "node:path"
import { Effect, Equal, FileSystem, Result, Stream } from "effect"
import type { TlsIdentity, TlsOptions } from "../../adapters/http/tlsServer.ts"
import { CommandFailed } from "../cli/CommandFailed.ts"
import { readTextFile } from "./configFiles.ts"
import { fileChanges, initialCheck, hangupSignals } from "./fileChanges.ts"

/** Where a certificate and its key are, both as PEM. */
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

const readTlsIdentity = ({
  cert,
  key
}: TlsFiles): Effect.Effect<TlsIdentity, CommandFailed, FileSystem.FileSystem> =>
  Effect.all({ cert: readPem(cert), key: readPem(key) })

/** What these files hold, now and whenever they have changed; files that cannot be read change nothing. */
export const watchTlsFiles = Effect.fnUntraced(function* (
  files: TlsFiles
): Effect.fn.Return<TlsOptions, CommandFailed, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const first = yield* readTlsIdentity(files)
  const changes = Stream.unwrap(fileChanges([resolve(files.cert), resolve(files.key)]))
  const updates = Stream.merge(initialCheck, Stream.merge(changes, hangupSignals)).pipe(
    Stream.mapEffect((trigger) =>
      Effect.matchEffect(readTlsIdentity(files), {
        onFailure: ({ message }) => Effect.as(Effect.logError(message), []),
        onSuccess: (next) => Effect.succeed(trigger === "look" && Equal.equals(next, first) ? [] : [next])
      })
    ),
    Stream.flatMap(Stream.fromIterable),
    Stream.provideService(FileSystem.FileSystem, fs)
  )
  return { ...first, updates }
})
