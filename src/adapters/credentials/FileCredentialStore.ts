import { randomUUID } from "node:crypto"
import { mkdir, open, rename, rm } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, posix, win32 } from "node:path"
import { Effect, Layer, Option, Redacted, Result, Semaphore } from "effect"
import { CredentialStore, CredentialsUnavailable } from "../../application/ports/CredentialStore.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { isJsonObject, parseJson } from "../../domain/json.ts"

/** Where the credentials are kept; {@link defaultPath} unless given. */
export interface FileCredentialStoreOptions {
  readonly path?: string
}

/** Largest file that is read or written, in bytes: hundreds of servers fit, a mistake does not fill the memory. */
const maxFileBytes = 1024 * 1024

/** The only form of the file so far. A program that finds another one leaves it alone. */
const version = 1

/** Rights for the owner alone. */
const ownerOnlyModes = { folder: 0o700, file: 0o600 }

/** The rights of everybody else. */
const othersMask = 0o077

/** Windows keeps a user's folders from other users by itself and knows no mode. */
const hasFileModes = process.platform !== "win32"

/**
 * One writer at a time, whichever layer it came by: a change reads the file and replaces it. Other processes are not
 * kept out; of two that write at the same moment the later one wins.
 */
const writeLock = Semaphore.makeUnsafe(1)

type Entries = ReadonlyMap<string, string>
const noEntries: Entries = new Map()

/** The credentials file of a user: in the configuration folder of the platform, as the environment names it. */
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
  // A relative path would depend on where the program was started; the XDG specification has it ignored.
  const configured = env["XDG_CONFIG_HOME"] ?? ""
  const folder = posix.isAbsolute(configured) ? configured : posix.join(home, ".config")
  return posix.join(folder, "a2c", "credentials.json")
}

const isMissing = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "ENOENT"

/** Parses the file. The reasons quote no part of it. */
const parseEntries = (text: string): Result.Result<Entries, string> => {
  const file = parseJson(text)
  if (file === undefined) return Result.fail("it is not JSON")
  if (!isJsonObject(file)) return Result.fail("it is no credentials file")
  if (file["version"] !== version) return Result.fail(`its version is not ${version}`)
  const servers = file["servers"]
  if (!isJsonObject(servers)) return Result.fail('its "servers" are no object')
  const entries = Object.entries(servers)
  return entries.every((entry): entry is [string, string] => typeof entry[1] === "string")
    ? Result.succeed(new Map(entries))
    : Result.fail("the credentials of a server are no text")
}

const formatEntries = (entries: Entries): string =>
  `${JSON.stringify({ version, servers: Object.fromEntries(entries) }, null, 2)}\n`

/** The text of the file, `undefined` when there is none, or why it must not be used. */
const readOwnerOnlyFile = async (file: string): Promise<Result.Result<string | undefined, string>> => {
  const handle = await open(file, "r").catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (handle === undefined) return Result.succeed(undefined)
  try {
    const { mode, size } = await handle.stat()
    if (hasFileModes && (mode & othersMask) !== 0) {
      const rights = (mode & 0o777).toString(8).padStart(4, "0")
      return Result.fail(`others may read or change it (mode ${rights}); allow only yourself: chmod 600`)
    }
    if (size > maxFileBytes) return Result.fail(`it is larger than ${maxFileBytes} bytes`)
    return Result.succeed(await handle.readFile("utf8"))
  } finally {
    await handle.close()
  }
}

/** Puts a new file in the place of the old one at once, so that nobody ever sees half of it. */
const replaceFile = async (file: string, text: string): Promise<void> => {
  await mkdir(dirname(file), { recursive: true, mode: ownerOnlyModes.folder })
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    const handle = await open(temporary, "wx", ownerOnlyModes.file)
    try {
      await handle.writeFile(text)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

const make = (file: string): CredentialStore["Service"] => {
  const unavailable = (action: string, reason: string) =>
    new CredentialsUnavailable({ message: `Cannot ${action} the credentials in ${file}: ${reason}` })
  const toUnavailable = (action: string) => (error: unknown) => unavailable(action, errorMessage(error))

  const load = Effect.tryPromise({
    try: () => readOwnerOnlyFile(file),
    catch: toUnavailable("read")
  }).pipe(
    Effect.map(
      Result.flatMap((text) => (text === undefined ? Result.succeed(noEntries) : parseEntries(text)))
    ),
    Effect.flatMap((parsed) =>
      Effect.fromResult(Result.mapError(parsed, (reason) => unavailable("read", reason)))
    )
  )
  const save = (entries: Entries): Effect.Effect<void, CredentialsUnavailable> => {
    const text = formatEntries(entries)
    return Buffer.byteLength(text) > maxFileBytes
      ? Effect.fail(unavailable("write", `they would take more than ${maxFileBytes} bytes`))
      : Effect.tryPromise({ try: () => replaceFile(file, text), catch: toUnavailable("write") })
  }
  const update = (edit: (entries: Map<string, string>) => boolean) =>
    Effect.flatMap(load, (entries) => {
      const edited = new Map(entries)
      return edit(edited) ? save(edited) : Effect.void
    }).pipe(Effect.uninterruptible, (whole) => writeLock.withPermit(whole))

  return {
    read: (server) =>
      Effect.map(load, (entries) =>
        Option.map(Option.fromUndefinedOr(entries.get(server)), (text) => Redacted.make(text))
      ),
    write: (server, credentials) =>
      update((entries) => {
        entries.set(server, Redacted.value(credentials))
        return true
      }),
    remove: (server) => update((entries) => entries.delete(server))
  }
}

/**
 * Keeps credentials in one JSON file that only its owner may read, in a folder that is made for its owner alone. A
 * file that others may read or change, or that this program does not understand, is refused rather than overwritten.
 */
export const layer = ({ path }: FileCredentialStoreOptions = {}): Layer.Layer<CredentialStore> =>
  Layer.sync(CredentialStore, () => CredentialStore.of(make(path ?? defaultPath())))
