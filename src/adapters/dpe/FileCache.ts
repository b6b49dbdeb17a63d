import { createHash, randomUUID } from "node:crypto"
import { lstat, mkdir, readdir, realpath, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Clock, Data, Duration, Effect, Option, Semaphore } from "effect"
import type { ResolveDpe } from "../../application/computer/ComputerSettings.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { extensionOf } from "./fileExtensions.ts"
import { type DpeDocument, expiryOf, makeResolver } from "./resolver.ts"

/** What an operator may set about the cache. */
export interface FileCacheOptions {
  /**
   * Made when it is not there. One that is there must belong to this user and be closed to all others (mode 0700).
   * It belongs to one Computer: another one's files count only when the cache is opened.
   */
  readonly folder: string
  /** How large all documents together may be, in bytes; 1 GiB unless set. The oldest go first. */
  readonly maxBytes?: number
  /** How many documents there may be; 10 000 unless set. */
  readonly maxFiles?: number
  /** How long a document stays after it was last asked for; 7 days unless set. */
  readonly maxAge?: Duration.Input
}

/** The cache cannot be used, or cannot take a document. The message says where and why. */
export class FileCacheError extends Data.TaggedError("FileCacheError")<{ readonly message: string }> {}

/** A file of the cache: its size in bytes, and when its document was last asked for. */
interface CachedFile {
  readonly bytes: number
  readonly lastUsedAt: number
}

/** Only what we wrote is counted and removed: the folder may hold other things by mistake. */
const cachedFilePattern = /^[0-9a-f]{64}\.[0-9a-z]+$/
const partialFilePattern = /^\.[0-9a-f-]{36}\.part$/

/** A half-written file of this age belongs to nobody: no document takes so long to write. */
const partialFileMaxAge = Duration.hours(1)

/** How many files are looked at at once when the cache is opened. */
const scanConcurrency = 16

const fileOperation = <A>(failing: string, run: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (error) => new FileCacheError({ message: `${failing}: ${errorMessage(error)}` })
  })

/** The real path of the folder, once it is certain that nobody else can read or change what is in it. */
const openFolder = Effect.fnUntraced(function* (folder: string) {
  const failing = `Cannot use the folder ${folder} for documents`
  yield* fileOperation(failing, () => mkdir(folder, { recursive: true, mode: 0o700 }))
  const path = yield* fileOperation(failing, () => realpath(folder))
  const { mode, uid } = yield* fileOperation(failing, () => stat(path))
  const user = process.geteuid?.()
  if (user === undefined) return path // Windows: a folder's access list says who may, not its mode
  if (uid !== user) return yield* new FileCacheError({ message: `${failing}: it belongs to another user` })
  if ((mode & 0o077) !== 0) {
    return yield* new FileCacheError({
      message: `${failing}: other users can access it; run chmod 700 or choose another folder`
    })
  }
  return path
})

/** Removes a file and says whether it is gone. */
const removeFile = (path: string, name: string) =>
  fileOperation("Cannot remove the file", () => rm(join(path, name), { force: true })).pipe(
    Effect.as(true),
    Effect.catch(({ message }) =>
      Effect.as(Effect.logWarning("cached file removal failed", { path, name, reason: message }), false)
    )
  )

/** What is in the folder, oldest first; half-written files that nobody will finish are removed. */
const readFolder = Effect.fnUntraced(function* (path: string) {
  const now = yield* Clock.currentTimeMillis
  const failing = `Cannot read the folder ${path}`
  const names = yield* fileOperation(failing, () => readdir(path))
  const files = yield* Effect.forEach(
    names.filter((name) => cachedFilePattern.test(name) || partialFilePattern.test(name)),
    Effect.fnUntraced(function* (name) {
      // what vanishes meanwhile was removed by another Computer
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

/** Nothing of the URI stands in the name; the same document always has the same one. */
const fileNameOf = ({ bytes, mimeType, uri }: DpeDocument): string => {
  const hash = createHash("sha256").update(JSON.stringify(uri)).update("\n").update(bytes).digest("hex")
  return `${hash}.${extensionOf(mimeType)}`
}

/**
 * Opens a folder in which documents are kept, and gives the resolver that answers their `file://` URIs: for Agents on
 * the same machine, run by the same user. Files are whole or not there. A document stays for `maxAge` after it was
 * last asked for, unless newer ones need its room: then its URI leads nowhere and the Agent asks again.
 */
export const makeFileCache = Effect.fn("FileCache.make")(function* ({
  folder,
  maxAge = Duration.days(7),
  maxBytes = 1024 ** 3,
  maxFiles = 10_000
}: FileCacheOptions): Effect.fn.Return<ResolveDpe, FileCacheError> {
  const path = yield* openFolder(folder)
  /** Oldest first: a file that is written again moves to the end. */
  const files = new Map<string, CachedFile>(yield* readFolder(path))
  const lock = yield* Semaphore.make(1)

  /** Removes what is too old, then the oldest until the bounds hold with `coming` files of `size` bytes more. */
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
        const place = fileOperation(failing, () => rename(join(path, part), join(path, name)))
        yield* Effect.uninterruptible(
          Effect.map(place, () => {
            files.delete(name)
            files.set(name, { bytes: bytes.byteLength, lastUsedAt: now })
          })
        )
      }),
      (part) => removeFile(path, part)
    )

  const store = Effect.fnUntraced(function* (document: DpeDocument) {
    const size = document.bytes.byteLength
    if (size > maxBytes) {
      return yield* new FileCacheError({
        message: `The document has ${size} bytes, more than the ${maxBytes} that ${path} may hold`
      })
    }
    const name = fileNameOf(document)
    yield* evict(1, name, size)
    const now = yield* Clock.currentTimeMillis
    yield* write(name, document.bytes, now)
    return { uri: pathToFileURL(join(path, name)).href, expiresAt: expiryOf(now, maxAge) }
  })

  yield* evict(0, "", 0)
  return makeResolver("FileCache.resolve", (document) => lock.withPermit(store(document)))
})
