import { randomUUID } from "node:crypto"
import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Effect, type Scope, Semaphore } from "effect"
import { type StagedContent, type StagedFile, StagingError } from "../../application/ports/files/SkillFiles.ts"
import { errorMessage } from "../../domain/errorMessage.ts"
import { checkFiles, unpackArchive } from "./unpackArchive.ts"

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
  try {
    await rename(replacement, folder)
  } catch (error) {
    if (hadPrevious) await rename(previous, folder)
    throw error
  }
}

/**
 * Makes the stage of a Computer: a folder below `parent`, by default that for temporary files, which only this user can
 * access. It is created for the first skill, and removed with the scope.
 */
export const makeStage = Effect.fnUntraced(function* (
  parent: string = tmpdir()
): Effect.fn.Return<
  (server: string, skill: string, content: StagedContent) => Effect.Effect<string, StagingError>,
  never,
  Scope.Scope
> {
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
    const known = serverFolders.get(server)
    if (known !== undefined) return known
    const name = `${serverFolders.size + 1}-${server.slice(0, 64).replaceAll(/[^A-Za-z0-9_-]/g, "_")}`
    serverFolders.set(server, name)
    return name
  }

  const place = (root: string, target: string, files: ReadonlyArray<StagedFile>) =>
    Effect.acquireUseRelease(
      Effect.sync(() => join(root, `.${randomUUID()}`)),
      (work) =>
        stagingOperation(async () => {
          await writeFiles(join(work, "new"), files)
          await replaceFolder(join(work, "new"), target, join(work, "previous"))
        }),
      removeFolder
    )

  return Effect.fnUntraced(function* (server, skill, content) {
    const files =
      content._tag === "Archive"
        ? yield* unpackArchive(content.format, content.bytes)
        : yield* Effect.fromResult(checkFiles(content.files))
    const placed = Effect.gen(function* () {
      const root = yield* openFolder
      const target = join(root, serverFolder(server), skill)
      yield* place(root, target, files)
      return target
    })
    // An interruption does not stop writes that have begun.
    return yield* lock.withPermit(Effect.uninterruptible(placed))
  })
})
