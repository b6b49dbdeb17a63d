import { homedir } from "node:os"
import { posix, win32 } from "node:path"
import { Effect, Layer, Option, Redacted, Result, Semaphore } from "effect"
import { CredentialStore, CredentialsUnavailable } from "../../application/ports/CredentialStore.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { isJsonObject } from "../../domain/json.ts"
import { readOwnerOnlyFile } from "./ownerOnlyFile.ts"
import { replaceFile } from "./replaceFile.ts"

/** `path` is the credentials file, by default {@link defaultPath}. */
export interface FileCredentialStoreOptions {
  readonly path?: string
}

/** Maximum file size in bytes: enough for hundreds of servers. */
const maxFileBytes = 1024 * 1024

/** Version of the file format. Files with another version are neither used nor changed. */
const version = 1

/** A change reads the file and replaces it. Between processes the last writer wins. */
const writeLock = Semaphore.makeUnsafe(1)

type Entries = Map<string, string>

/** The credentials file in the configuration folder of the user. */
export const defaultPath = (
  env: { readonly [name: string]: string | undefined } = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string = homedir()
): string => {
  if (platform === "win32") {
    const roaming = env["APPDATA"] ?? ""
    const folder = roaming === "" ? win32.join(home, "AppData", "Roaming") : roaming
    return win32.join(folder, "a2c", "credentials.json")
  }
  // The XDG specification ignores relative paths.
  const configured = env["XDG_CONFIG_HOME"] ?? ""
  const folder = posix.isAbsolute(configured) ? configured : posix.join(home, ".config")
  return posix.join(folder, "a2c", "credentials.json")
}

/** Parses the file. The reasons quote no part of it. */
const parseEntries = (file: unknown): Result.Result<Entries, string> => {
  if (file === undefined) return Result.succeed(new Map())
  if (!isJsonObject(file)) return Result.fail("it is not a credentials file")
  if (file["version"] !== version) return Result.fail(`its version is not ${version}`)
  const servers = file["servers"]
  if (!isJsonObject(servers)) return Result.fail('"servers" must be an object')
  const entries = Object.entries(servers)
  return entries.every((entry): entry is [string, string] => typeof entry[1] === "string")
    ? Result.succeed(new Map(entries))
    : Result.fail("the credentials of each server must be a string")
}

const make = (file: string) => {
  const unavailable = (action: string, reason: string) =>
    new CredentialsUnavailable({ message: `Cannot ${action} the credentials in ${file}: ${reason}` })
  const load = Effect.tryPromise({ try: () => readOwnerOnlyFile(file, maxFileBytes), catch: errorMessage }).pipe(
    Effect.flatMap((read) => Effect.fromResult(Result.flatMap(read, parseEntries))),
    Effect.mapError((reason) => unavailable("read", reason))
  )
  const update = (edit: (entries: Entries) => boolean) =>
    Effect.gen(function* () {
      const entries = yield* load
      if (!edit(entries)) return
      const text = `${JSON.stringify({ version, servers: Object.fromEntries(entries) }, null, 2)}\n`
      if (Buffer.byteLength(text) > maxFileBytes)
        return yield* unavailable("write", `they exceed ${maxFileBytes} bytes`)
      yield* Effect.tryPromise({
        try: () => replaceFile(file, text),
        catch: (error) => unavailable("write", errorMessage(error))
      })
    }).pipe(Effect.uninterruptible, (whole) => writeLock.withPermit(whole))

  return CredentialStore.of({
    read: (server) =>
      Effect.map(load, (entries) => Option.map(Option.fromUndefinedOr(entries.get(server)), Redacted.make)),
    write: (server, credentials) =>
      update((entries) => {
        entries.set(server, Redacted.value(credentials))
        return true
      }),
    remove: (server) => update((entries) => entries.delete(server))
  })
}

/**
 * Stores credentials in one JSON file with access for its owner only. A file that others have access to, or that is
 * invalid, is rejected and not overwritten.
 */
export const layer = ({ path }: FileCredentialStoreOptions = {}): Layer.Layer<CredentialStore> =>
  Layer.sync(CredentialStore, () => make(path ?? defaultPath()))
