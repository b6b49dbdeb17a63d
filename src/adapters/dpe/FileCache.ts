import { createHash, randomUUID } from "node:crypto"
import { lstat, mkdir, readdir, realpath, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Clock, Data, Duration, Effect, Option, Semaphore } from "effect"
import type { ResolveDpe } from "../../application/computer/ComputerSettings.ts"
import { mimeEssence, mimeTypeOf } from "../../domain/skills/mimeTypes.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { type DpeDocument, expiryOf, makeResolver } from "./resolver.ts"

export interface FileCacheOptions {
  /** Created if missing. Must belong to this user with mode 0700, and to one Computer only. */
  readonly folder: string
  /** Total size of all documents in bytes; 1 GiB by default. The oldest are evicted first. */
  readonly maxBytes?: number
  /** Maximum number of documents; 10 000 by default. */
  readonly maxFiles?: number
  /** How long a document is kept after its last use; 7 days by default. */
  readonly maxAge?: Duration.Input
}

/** The folder is unusable, or a document cannot be stored. */
export class FileCacheError extends Data.TaggedError("FileCacheError")<{ readonly message: string }> {}

/** Only files of the cache are counted and removed: the folder may contain others by mistake. */
const cachedFilePattern = /^[0-9a-f]{64}\.[0-9a-z]+$/
const partialFilePattern = /^\.[0-9a-f-]{36}\.part$/

/** Older partial files are abandoned. */
const partialFileMaxAge = Duration.hours(1)

const scanConcurrency = 16

const fileOperation = <A>(failing: string, run: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (error) => new FileCacheError({ message: `${failing}: ${errorMessage(error)}` })
  })

/** Returns the real path of the folder after checking that no other user can access it. */
const openFolder = (folder: string) =>
  fileOperation(`Cannot use the folder ${folder} for documents`, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const path = await realpath(folder)
    const { mode, uid } = await stat(path)
    const user = process.geteuid?.() // Windows has access lists instead of modes
    if (user !== undefined && uid !== user) throw new Error("it belongs to another user")
    if (user !== undefined && (mode & 0o077) !== 0)
      throw new Error("other users can access it; run chmod 700 or choose another folder")
    return path
  })

/** Removes a file. False when that fails. */
const removeFile = (path: string, name: string) =>
  fileOperation("Cannot remove the file", () => rm(join(path, name), { force: true })).pipe(
    Effect.as(true),
    Effect.catch(({ message }) =>
      Effect.as(Effect.logWarning("cached file removal failed", { path, name, reason: message }), false)
    )
  )

/** Lists the cached files, oldest first, and removes abandoned partial files. */
const readFolder = Effect.fnUntraced(function* (path: string) {
  const now = yield* Clock.currentTimeMillis
  const failing = `Cannot read the folder ${path}`
  const names = yield* fileOperation(failing, () => readdir(path))
  const files = yield* Effect.forEach(
    names.filter((name) => cachedFilePattern.test(name) || partialFilePattern.test(name)),
    Effect.fnUntraced(function* (name) {
      // another Computer may have removed the file meanwhile
      const found = yield* Effect.option(fileOperation(failing, () => lstat(join(path, name))))
      if (Option.isNone(found) || !found.value.isFile()) return []
      const { mtimeMs, size } = found.value
      if (cachedFilePattern.test(name)) return [[name, { bytes: size, lastUsedAt: mtimeMs }] as const]
      if (mtimeMs + Duration.toMillis(partialFileMaxAge) <= now) yield* removeFile(path, name)
      return []
    }),
    { concurrency: scanConcurrency }
  )
  return files.flat().toSorted(([, one], [, other]) => one.lastUsedAt - other.lastUsedAt)
})

const commonExtensions = "json pdf xml yaml zip pptx xlsx docx mp3 wav gif jpg png svg webp css csv html md mp4".split(
  " "
)

/** The extension of each type. Fixed, so a document has the same name on every host. */
const extensions: ReadonlyMap<string, string> = new Map([
  ...commonExtensions.map((extension) => [mimeTypeOf(`x.${extension}`), extension] as const),
  ["application/msword", "doc"],
  ["application/rtf", "rtf"]
])

/** The file extension of a MIME type, without the dot; `bin` when unknown. */
const extensionOf = (mimeType: string): string => {
  const essence = mimeEssence(mimeType)
  const suffix = /(?<=\+)(?:json|xml)$|(?<=^text\/)(?:xml|yaml)$/.exec(essence)?.[0]
  return extensions.get(essence) ?? suffix ?? (essence.startsWith("text/") ? "txt" : "bin")
}

/** The name is a hash of URI and contents, so equal documents share a file. */
const fileNameOf = ({ bytes, mimeType, uri }: DpeDocument): string => {
  const hash = createHash("sha256").update(JSON.stringify(uri)).update("\n").update(bytes).digest("hex")
  return `${hash}.${extensionOf(mimeType)}`
}

/**
 * Opens a folder of cached documents and returns a resolver to `file://` URIs, for Agents of the same user on the same
 * machine. Writes are atomic. A document that is evicted before `maxAge` is resolved again by the Agent.
 */
export const makeFileCache = Effect.fn("FileCache.make")(function* ({
  folder,
  maxAge = Duration.days(7),
  maxBytes = 1024 ** 3,
  maxFiles = 10_000
}: FileCacheOptions): Effect.fn.Return<ResolveDpe, FileCacheError> {
  const path = yield* openFolder(folder)
  /** Oldest first: a rewritten file moves to the end. */
  const files = new Map(yield* readFolder(path))
  const lock = yield* Semaphore.make(1)

  /** Removes expired files, then the oldest until the limits hold with the incoming file. */
  const evict = Effect.fnUntraced(function* (incoming: 0 | 1, name: string, size: number) {
    const now = yield* Clock.currentTimeMillis
    const others = [...files].filter(([other]) => other !== name)
    let bytes = others.reduce((sum, [, file]) => sum + file.bytes, size)
    let count = others.length + incoming
    for (const [other, file] of others) {
      const fits = bytes <= maxBytes && count <= maxFiles
      if (fits && now < expiryOf(file.lastUsedAt, maxAge)) return
      if (!(yield* removeFile(path, other))) continue
      files.delete(other)
      bytes -= file.bytes
      count -= 1
    }
  })

  const write = (name: string, bytes: Uint8Array, now: number) =>
    Effect.acquireUseRelease(
      Effect.sync(() => `.${randomUUID()}.part`),
      Effect.fnUntraced(function* (part) {
        const failing = `Cannot write a document into ${path}`
        yield* fileOperation(failing, (signal) =>
          writeFile(join(path, part), bytes, { flag: "wx", mode: 0o600, flush: true, signal })
        )
        yield* fileOperation(failing, () => utimes(join(path, part), now / 1000, now / 1000))
        const place = fileOperation(failing, async () => {
          await rename(join(path, part), join(path, name))
          files.delete(name)
          files.set(name, { bytes: bytes.byteLength, lastUsedAt: now })
        })
        yield* Effect.uninterruptible(place)
      }),
      (part) => removeFile(path, part)
    )

  const store = Effect.fnUntraced(function* (document: DpeDocument) {
    const name = fileNameOf(document)
    yield* evict(1, name, document.bytes.byteLength)
    const now = yield* Clock.currentTimeMillis
    yield* write(name, document.bytes, now)
    return { uri: pathToFileURL(join(path, name)).href, expiresAt: expiryOf(now, maxAge) }
  })

  yield* evict(0, "", 0)
  return makeResolver("FileCache.resolve", maxBytes, (document) => lock.withPermit(store(document)))
})
