import { createHash, randomUUID } from "node:crypto"
import { lstat, mkdir, readdir, realpath, rename, rm, stat, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Clock, Data, Duration, Effect, Option, Semaphore } from "effect"
import type { ResolveDpe } from "../../application/computer/ComputerSettings.ts"
import { extensionOf } from "./extensions.ts"
import { type Document, expiryOf, resolverOf } from "./resolver.ts"

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
export class FileCacheFailed extends Data.TaggedError("FileCacheFailed")<{ readonly message: string }> {}

/** A file of the cache: its size in bytes, and when its document was last asked for. */
interface CachedFile {
  readonly bytes: number
  readonly madeAt: number
}

/** Only what we wrote is counted and removed: the folder may hold other things by mistake. */
const ownName = /^[0-9a-f]{64}\.[0-9a-z]+$/
const partName = /^\.[0-9a-f-]{36}\.part$/

/** A half-written file of this age belongs to nobody: no document takes so long to write. */
const abandonedAfter = Duration.hours(1)

/** How many files are looked at at once when the cache is opened. */
const readers = 16

const onDisk = <A>(failing: string, run: (signal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (error) =>
      new FileCacheFailed({
        message: `${failing}: ${error instanceof Error ? error.message : String(error)}`
      })
  })

/** The real path of the folder, once it is certain that nobody else can read or change what is in it. */
const openFolder = Effect.fnUntraced(function* (folder: string) {
  const failing = `Cannot use the folder ${folder} for documents`
  yield* onDisk(failing, () => mkdir(folder, { recursive: true, mode: 0o700 }))
  const path = yield* onDisk(failing, () => realpath(folder))
  const { mode, uid } = yield* onDisk(failing, () => stat(path))
  const user = process.geteuid?.()
  if (user === undefined) return path // Windows: a folder's access list says who may, not its mode
  if (uid !== user) return yield* new FileCacheFailed({ message: `${failing}: it belongs to another user` })
  if ((mode & 0o077) !== 0) {
    return yield* new FileCacheFailed({
      message: `${failing}: others may use it too; close it to them (chmod 700) or name another`
    })
  }
  return path
})

/** Removes a file and says whether it is gone. */
const remove = (path: string, name: string) =>
  onDisk(`Cannot remove ${name} from ${path}`, () => rm(join(path, name), { force: true })).pipe(
    Effect.as(true),
    Effect.catch(({ message }) => Effect.as(Effect.logWarning(message), false))
  )

/** What is in the folder, oldest first; half-written files that nobody will finish are removed. */
const readFolder = Effect.fnUntraced(function* (path: string) {
  const now = yield* Clock.currentTimeMillis
  const failing = `Cannot read the folder ${path}`
  const names = yield* onDisk(failing, () => readdir(path))
  const files = yield* Effect.forEach(
    names.filter((name) => ownName.test(name) || partName.test(name)),
    Effect.fnUntraced(function* (name) {
      // what vanishes meanwhile was removed by another Computer
      const found = yield* Effect.option(onDisk(failing, () => lstat(join(path, name))))
      if (Option.isNone(found) || !found.value.isFile()) return []
      const { mtimeMs, size } = found.value
      if (ownName.test(name)) return [[name, { bytes: size, madeAt: mtimeMs }] as const]
      if (mtimeMs + Duration.toMillis(abandonedAfter) <= now) yield* remove(path, name)
      return []
    }),
    { concurrency: readers }
  )
  return files.flat().toSorted(([, one], [, other]) => one.madeAt - other.madeAt)
})

/** Nothing of the URI stands in the name; the same document always has the same one. */
const nameOf = ({ bytes, mimeType, uri }: Document): string => {
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
}: FileCacheOptions): Effect.fn.Return<ResolveDpe, FileCacheFailed> {
  const path = yield* openFolder(folder)
  /** Oldest first: a file that is written again moves to the end. */
  const files = new Map<string, CachedFile>(yield* readFolder(path))
  const lock = yield* Semaphore.make(1)

  /** Removes what is too old, then the oldest until the bounds hold with `coming` files of `size` bytes more. */
  const makeRoom = Effect.fnUntraced(function* (coming: 0 | 1, name: string, size: number) {
    const now = yield* Clock.currentTimeMillis
    const others = [...files].filter(([other]) => other !== name)
    let bytes = others.reduce((sum, [, file]) => sum + file.bytes, size)
    let count = others.length + coming
    for (const [other, file] of others) {
      const fits = bytes <= maxBytes && count <= maxFiles
      if (fits && now < expiryOf(file.madeAt, maxAge)) return
      if (!(yield* remove(path, other))) continue
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
        yield* onDisk(failing, (signal) =>
          writeFile(join(path, part), bytes, { flag: "wx", mode: 0o600, flush: true, signal })
        )
        yield* onDisk(failing, () => utimes(join(path, part), now / 1000, now / 1000))
        const place = onDisk(failing, () => rename(join(path, part), join(path, name)))
        yield* Effect.uninterruptible(
          Effect.map(place, () => {
            files.delete(name)
            files.set(name, { bytes: bytes.byteLength, madeAt: now })
          })
        )
      }),
      (part) => remove(path, part)
    )

  const keep = Effect.fnUntraced(function* (document: Document) {
    const size = document.bytes.byteLength
    if (size > maxBytes) {
      return yield* new FileCacheFailed({
        message: `The document has ${size} bytes, the folder ${path} takes ${maxBytes}`
      })
    }
    const name = nameOf(document)
    yield* makeRoom(1, name, size)
    const now = yield* Clock.currentTimeMillis
    yield* write(name, document.bytes, now)
    return { uri: pathToFileURL(join(path, name)).href, expiresAt: expiryOf(now, maxAge) }
  })

  yield* makeRoom(0, "", 0)
  return resolverOf("FileCache.resolve", (document) => lock.withPermit(keep(document)))
})
