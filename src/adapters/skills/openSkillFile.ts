import { type BigIntStats, constants } from "node:fs"
import { type FileHandle, lstat, open, realpath, stat } from "node:fs/promises"
import { dirname, isAbsolute, join, relative, sep } from "node:path"
import { Effect, type Scope } from "effect"
import { type OpenSkillFile, SkillFileError } from "../../application/ports/files/SkillFiles.ts"
import { errorMessage, systemErrorCode } from "../../domain/errorMessage.ts"

const reasonsByCode: ReadonlyMap<string | undefined, SkillFileError["reason"]> = new Map([
  ["ENOENT", "not_found"],
  ["ENOTDIR", "not_found"],
  ["ENAMETOOLONG", "not_found"],
  ["EISDIR", "not_found"],
  ["ELOOP", "traversal"],
  ["EACCES", "forbidden"],
  ["EPERM", "forbidden"]
])

const toSkillFileError = (error: unknown): SkillFileError =>
  error instanceof SkillFileError
    ? error
    : new SkillFileError({
        reason: reasonsByCode.get(systemErrorCode(error)) ?? "io_error",
        message: errorMessage(error)
      })

/** Runs an operation of the file system. */
export const fileOperation = <A>(run: () => Promise<A>): Effect.Effect<A, SkillFileError> =>
  Effect.tryPromise({ try: run, catch: toSkillFileError })

const leavesRoot = (path: string) =>
  new SkillFileError({ reason: "traversal", message: `a link leads from ${path} out of its root` })

const isInside = (root: string, path: string): boolean => {
  const below = relative(root, path)
  return below !== ".." && !below.startsWith(`..${sep}`) && !isAbsolute(below)
}

const isMissing = (error: unknown): boolean => ["ENOENT", "ENOTDIR"].includes(systemErrorCode(error) ?? "")

/** The real path of the nearest existing parent. A link without a target exists. */
const resolveParent = async (path: string): Promise<string> => {
  const parent = dirname(path)
  const isLink = (await lstat(path).catch(() => undefined))?.isSymbolicLink() ?? false
  if (isLink || parent === path) throw leavesRoot(path)
  return realpath(parent).catch((error) => {
    if (isMissing(error)) return resolveParent(parent)
    throw error
  })
}

/**
 * Resolves the links of a path below a root. Fails with `traversal` when it leads out of the root, even to a path that
 * does not exist: the answer must not tell what exists there.
 */
export const resolveInside = async (root: string, below: string): Promise<{ root: string; path: string }> => {
  const realRoot = await realpath(root)
  const path = join(realRoot, below)
  const resolved = await realpath(path).catch(async (error) => {
    if (isMissing(error) && !isInside(realRoot, await resolveParent(path))) throw leavesRoot(path)
    throw error
  })
  if (!isInside(realRoot, resolved)) throw leavesRoot(path)
  return { root: realRoot, path: resolved }
}

const versionOf = ({ ctimeNs, dev, ino, mtimeNs, size }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(":")

interface Opened {
  readonly file: FileHandle
  /** Below the root. */
  readonly path: string
  readonly found: BigIntStats
}

const openInside = async (root: string, below: string): Promise<Opened> => {
  const resolved = await resolveInside(root, below)
  // A link may have replaced the file by now. Opening a FIFO must not block the reader.
  const file = await open(resolved.path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const found = await file.stat({ bigint: true })
    if (!found.isFile()) throw new SkillFileError({ reason: "not_found", message: `${resolved.path} is not a file` })
    // A link may have replaced a folder of the path as well.
    const [again, current] = await Promise.all([realpath(resolved.path), stat(resolved.path, { bigint: true })])
    if (again !== resolved.path || current.ino !== found.ino || current.dev !== found.dev) {
      throw new SkillFileError({ reason: "changed", message: `${resolved.path} was replaced` })
    }
    return { file, found, path: relative(resolved.root, resolved.path).split(sep).join("/") }
  } catch (error) {
    await file.close()
    throw error
  }
}

const readBytes = async ({ file, found }: Opened, offset: number, length: number): Promise<Uint8Array> => {
  const bytes = new Uint8Array(Math.max(0, Math.min(length, Number(found.size) - offset)))
  let filled = 0
  while (filled < bytes.length) {
    const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  // Checked last: a write during the reads shows here.
  if (filled < bytes.length || versionOf(await file.stat({ bigint: true })) !== versionOf(found)) {
    throw new SkillFileError({ reason: "changed", message: "the file has changed" })
  }
  return bytes
}

/** Opens a file below a root for the scope. */
export const openSkillFile = (root: string, path: string): Effect.Effect<OpenSkillFile, SkillFileError, Scope.Scope> =>
  Effect.acquireRelease(
    fileOperation(() => openInside(root, path)),
    ({ file }) => Effect.ignore(fileOperation(() => file.close()))
  ).pipe(
    Effect.map((opened) => ({
      path: opened.path,
      size: Number(opened.found.size),
      version: versionOf(opened.found),
      read: (offset, length) => fileOperation(() => readBytes(opened, offset, length))
    }))
  )
