import { resolve } from "node:path"
import { Effect, Equal, FileSystem, Result, Stream } from "effect"
import type { TlsIdentity, TlsOptions } from "../../adapters/socketio/tls.ts"
import { CommandFailed } from "../failure.ts"
import { readText } from "./files.ts"
import { changesOf, firstLook, hangups } from "./watching.ts"

/** Where a certificate and its key are, both as PEM. */
export interface TlsFiles {
  readonly cert: string
  readonly key: string
}

const textOf = Effect.fnUntraced(function* (file: string) {
  const text = yield* readText(file)
  return Result.isSuccess(text)
    ? text.success
    : yield* new CommandFailed({ message: `The certificate cannot be used: ${file}: ${text.failure}` })
})

const readTls = ({ cert, key }: TlsFiles): Effect.Effect<TlsIdentity, CommandFailed, FileSystem.FileSystem> =>
  Effect.all({ cert: textOf(cert), key: textOf(key) })

/** What these files hold, now and whenever they have changed; files that cannot be read change nothing. */
export const tlsFrom = Effect.fnUntraced(function* (
  files: TlsFiles
): Effect.fn.Return<TlsOptions, CommandFailed, FileSystem.FileSystem> {
  const fs = yield* FileSystem.FileSystem
  const first = yield* readTls(files)
  const changes = Stream.unwrap(changesOf([resolve(files.cert), resolve(files.key)]))
  const updates = Stream.merge(firstLook, Stream.merge(changes, hangups)).pipe(
    Stream.mapEffect((why) =>
      Effect.matchEffect(readTls(files), {
        onFailure: ({ message }) => Effect.as(Effect.logError(message), []),
        onSuccess: (next) => Effect.succeed(why === "look" && Equal.equals(next, first) ? [] : [next])
      })
    ),
    Stream.flatMap(Stream.fromIterable),
    Stream.provideService(FileSystem.FileSystem, fs)
  )
  return { ...first, updates }
})
