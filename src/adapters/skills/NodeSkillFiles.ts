import { lstat, mkdir, mkdtemp, open, readdir, realpath, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, isAbsolute, join, relative, sep } from "node:path"
import { type BigIntStats, constants } from "node:fs"
import { randomUUID } from "node:crypto"
import { tmpdir } from "node:os"
import { Effect, Layer, type Scope, Semaphore } from "effect"
import {
  type OpenSkillFile,
  SkillFileError,
  SkillFiles,
  type StagedContent,
  type StagedFile,
  StagingError
} from "../../application/ports/files/SkillFiles.ts"
import { errorMessage, orUndefinedIfMissing, systemErrorCode } from "../../domain/errorMessage.ts"
import { isSkillFolder } from "../../domain/skills/skillPaths.ts"
import { watchFolders } from "../folders/watchFolders.ts"
import { parseYamlValue } from "./parseYamlValue.ts"
import { checkFiles, unpackArchive } from "./unpackArchive.ts"

const reasonsByCode: { readonly [code: string]: SkillFileError["reason"] } = {
  ENOENT: "not_found",
  ENOTDIR: "not_found",
  ENAMETOOLONG: "not_found",
  EISDIR: "not_found",
  ELOOP: "traversal",
  EACCES: "forbidden",
  EPERM: "forbidden"
}

const toSkillFileError = (error: unknown): SkillFileError => {
  if (error instanceof SkillFileError) return error
  const reason = reasonsByCode[systemErrorCode(error) ?? ""] ?? "io_error"
  return new SkillFileError({ reason, message: errorMessage(error) })
}

const fileOperation = <A>(run: () => Promise<A>): Effect.Effect<A, SkillFileError> =>
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
const resolveInside = async (root: string, below: string): Promise<{ root: string; path: string }> => {
  const realRoot = await realpath(root)
  const path = join(realRoot, below)
  const resolved = await realpath(path).catch(async (error) => {
    if (isMissing(error) && !isInside(realRoot, await resolveParent(path))) throw leavesRoot(path)
    throw error
  })
  if (!isInside(realRoot, resolved)) throw leavesRoot(path)
  return { root: realRoot, path: resolved }
}

const versionOf = ({ ctimeNs, dev, ino, mtimeNs, size }: BigIntStats) => [dev, ino, size, mtimeNs, ctimeNs].join(":")

type Opened = Awaited<ReturnType<typeof openInside>>

/** Opens a file; `path` is below the root. */
const openInside = async (root: string, below: string) => {
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

const openSkillFile = (root: string, path: string): Effect.Effect<OpenSkillFile, SkillFileError, Scope.Scope> =>
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

const stagingOperation = <A>(run: () => Promise<A>): Effect.Effect<A, StagingError> =>
  Effect.tryPromise({ try: run, catch: (error) => new StagingError({ message: errorMessage(error) }) })

const removeFolder = (folder: string) =>
  Effect.catch(
    stagingOperation(() => rm(folder, { recursive: true, force: true })),
    ({ message: reason }) => Effect.logWarning("staged skill removal failed", { folder, reason })
  )

const writeFiles = async (folder: string, files: ReadonlyArray<StagedFile>): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const { bytes, isExecutable, path } of files) {
    const target = join(folder, path)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    // Fails for a second file with the same name, also where names have no case.
    await writeFile(target, bytes, { flag: "wx", mode: isExecutable === true ? 0o700 : 0o600 })
  }
}

/** Moves a folder into the place of another one, which may not exist. */
const replaceFolder = async (replacement: string, folder: string, previous: string): Promise<void> => {
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
  const hadPrevious = await rename(folder, previous).then(
    () => true,
    () => false
  )
  await rename(replacement, folder).catch(async (error) => {
    if (hadPrevious) await rename(previous, folder)
    throw error
  })
}

/**
 * Makes the stage of a Computer: a folder below `parent`, by default that for temporary files, which only this user can
 * access. It is created for the first skill, and removed with the scope.
 */
const makeStage = Effect.fnUntraced(function* (parent: string = tmpdir()) {
  let folder: string | undefined
  /** Names of servers can differ only by case, which some file systems ignore. */
  const serverFolders = new Map<string, string>()
  const lock = yield* Semaphore.make(1)
  yield* Effect.addFinalizer(() => (folder === undefined ? Effect.void : removeFolder(folder)))

  const openFolder = stagingOperation(async () => {
    if (folder !== undefined) return folder
    await mkdir(parent, { recursive: true, mode: 0o700 })
    folder = await realpath(await mkdtemp(join(parent, "a2c-skills-")))
    return folder
  })

  const serverFolder = (server: string): string => {
    const safeName = server.slice(0, 64).replaceAll(/[^A-Za-z0-9_-]/g, "_")
    const name = serverFolders.get(server) ?? `${serverFolders.size + 1}-${safeName}`
    serverFolders.set(server, name)
    return name
  }

  return Effect.fnUntraced(function* (server: string, skill: string, content: StagedContent) {
    const files =
      content._tag === "Archive"
        ? yield* unpackArchive(content.format, content.bytes)
        : yield* Effect.fromResult(checkFiles(content.files))
    const placed = Effect.gen(function* () {
      const root = yield* openFolder
      const target = join(root, serverFolder(server), skill)
      const work = join(root, `.${randomUUID()}`)
      yield* stagingOperation(async () => {
        await writeFiles(join(work, "new"), files)
        await replaceFolder(join(work, "new"), target, join(work, "previous"))
      }).pipe(Effect.ensuring(removeFolder(work)))
      return target
    })
    // An interruption does not stop writes that have begun.
    return yield* lock.withPermit(Effect.uninterruptible(placed))
  })
})

/** Entries that hold no skills: their changes lead to no scan. */
const isIgnored = (name: string): boolean => name === "node_modules" || name === ".git"

const listFolders = async (folder: string): Promise<ReadonlyArray<string>> => {
  const entries = (await readdir(folder, { withFileTypes: true }).catch(orUndefinedIfMissing)) ?? []
  const names: Array<string> = []
  for (const entry of entries.filter(({ name }) => isSkillFolder(name))) {
    // A link can be broken.
    const found = entry.isSymbolicLink() ? await stat(join(folder, entry.name)).catch(() => undefined) : entry
    if (found?.isDirectory()) names.push(entry.name)
  }
  return names.toSorted()
}

const resolveFolder = async (root: string, below: string): Promise<string> => {
  const { path } = await resolveInside(root, below)
  if ((await stat(path)).isDirectory()) return path
  throw new SkillFileError({ reason: "not_found", message: `${path} is not a folder` })
}

export interface NodeSkillFilesOptions {
  /** Where the skills of MCP servers are staged; the folder for temporary files by default. */
  readonly stagingParent?: string | undefined
}

/** The file system of this host. Staged skills are removed with the layer. */
export const layer = ({ stagingParent }: NodeSkillFilesOptions = {}): Layer.Layer<SkillFiles> =>
  Layer.effect(
    SkillFiles,
    Effect.map(makeStage(stagingParent), (stage) =>
      SkillFiles.of({
        listFolders: (folder) => fileOperation(() => listFolders(folder)),
        resolveFolder: (root, path) => fileOperation(() => resolveFolder(root, path)),
        open: openSkillFile,
        stage,
        watch: (folders) => watchFolders(folders, isIgnored),
        parseYaml: parseYamlValue
      })
    )
  )
