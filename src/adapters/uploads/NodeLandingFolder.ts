import { randomUUID } from "node:crypto"
import { link, lstat, mkdir, open, readdir, realpath, rename, rm, unlink } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer } from "effect"
import { LandingFailed, LandingFolder, type LandingPart } from "../../application/ports/files/LandingFolder.ts"
import { numberFileName } from "../../domain/blobs/fileNames.ts"
import { errorMessage, orUndefinedIfMissing, systemErrorCode } from "../../domain/errorMessage.ts"

/** File names of uploads never start with a dot. */
const partPattern = /^\.a2c-upload-[0-9a-f-]{36}\.part$/

/** Files of the same name before an upload fails. */
const maxNumber = 1000

const noLinkCodes: ReadonlySet<string | undefined> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"])

const fileOperation = <A>(failing: string, run: () => Promise<A>): Effect.Effect<A, LandingFailed> =>
  Effect.tryPromise({
    try: run,
    catch: (error) => new LandingFailed({ message: `${failing}: ${errorMessage(error)}` })
  })

/** Gives a file a second name; never replaces a file. */
type LinkFile = (path: string, newPath: string) => Promise<void>

/** Moves a file to a name; false when the name is taken. The complete file appears at once. */
const moveTo = async (part: string, target: string, linkFile: LinkFile): Promise<boolean> => {
  try {
    await linkFile(part, target).then(
      () => unlink(part),
      (error) => {
        if (noLinkCodes.has(systemErrorCode(error))) return moveWithoutLinks(part, target)
        throw error
      }
    )
    return true
  } catch (error) {
    if (systemErrorCode(error) === "EEXIST") return false
    throw error
  }
}

/** Moves a file. An empty file reserves the name, since a rename replaces what exists. */
const moveWithoutLinks = async (part: string, target: string): Promise<void> => {
  await (await open(target, "wx", 0o600)).close()
  await rename(part, target).catch(async (error) => {
    await rm(target, { force: true })
    throw error
  })
}

const openPart = Effect.fnUntraced(function* (
  folder: string,
  linkFile: LinkFile
): Effect.fn.Return<LandingPart, LandingFailed> {
  const failing = `Cannot write an upload into ${folder}`
  const path = yield* fileOperation(failing, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return realpath(folder)
  })
  const part = join(path, `.a2c-upload-${randomUUID()}.part`)
  // "wx" follows no symbolic link: it fails where anything exists.
  const handle = yield* fileOperation(failing, () => open(part, "wx", 0o600))

  const finish = async (name: string): Promise<string> => {
    await handle.sync()
    await handle.close()
    for (let n = 1; n <= maxNumber; n++) {
      const target = join(path, numberFileName(name, n))
      if (await moveTo(part, target, linkFile)) return target
    }
    throw new Error(`it has more than ${maxNumber} files named ${name}`)
  }

  const discard = async (): Promise<void> => {
    // After finish the handle is closed, and the part may have its name.
    await handle.close().catch(() => undefined)
    await rm(part, { force: true })
  }

  return {
    append: (bytes) => fileOperation(failing, () => handle.appendFile(bytes)),
    finish: (name) => fileOperation(failing, () => finish(name)),
    discard: Effect.catch(fileOperation("Cannot remove the part", discard), ({ message: reason }) =>
      Effect.logWarning("upload part removal failed", { path: part, reason })
    )
  }
})

const collectOrphans = (folder: string) =>
  fileOperation(`Cannot clean up the folder ${folder}`, async () => {
    const names = (await readdir(folder).catch(orUndefinedIfMissing)) ?? []
    let removed = 0
    for (const path of names.filter((name) => partPattern.test(name)).map((name) => join(folder, name))) {
      const found = await lstat(path).catch(() => undefined)
      if (found?.isFile() !== true) continue
      await rm(path, { force: true })
      removed++
    }
    return removed
  })

/** As {@link layer}, with another function for hard links. */
export const layerWithLinks = (linkFile: LinkFile): Layer.Layer<LandingFolder> =>
  Layer.succeed(LandingFolder, { openPart: (folder) => openPart(folder, linkFile), collectOrphans })

/** Writes uploads with mode 0600. A folder belongs to one Computer: the start of another one removes its parts. */
export const layer: Layer.Layer<LandingFolder> = layerWithLinks(link)
