import { randomUUID } from "node:crypto"
import { chmod, chown, mkdir, readlink, realpath, rename, rm, stat, writeFile } from "node:fs/promises"
import { dirname, resolve } from "node:path"
import { orUndefinedIfMissing } from "../../domain/errorMessage.ts"

/** The file behind links, which stay, also while it is missing. Fails for devices, pipes and folders: a rename would end them. */
export const replaceableFile = async (file: string): Promise<string> => {
  const stats = await stat(file).catch(orUndefinedIfMissing)
  if (stats?.isFile() === false) throw new Error("it is not a regular file")
  if (stats !== undefined) return realpath(file)
  const target = await readlink(file).catch(() => undefined)
  return target === undefined ? file : replaceableFile(resolve(dirname(file), target))
}

/** Gives a file the owner and the mode of another one, where that exists: the same programs can read it. */
export const copyAccess = async (from: string, to: string): Promise<void> => {
  const stats = await stat(from).catch(orUndefinedIfMissing)
  if (stats === undefined) return
  const own = await stat(to)
  if (own.uid !== stats.uid || own.gid !== stats.gid) await chown(to, stats.uid, stats.gid)
  await chmod(to, stats.mode & 0o777)
}

/**
 * Replaces a file with its folder atomically, and keeps links to it. Only the owner has access to a new file or folder.
 * `prepare` may change the new file before it takes the name.
 */
export const replaceFile = async (
  given: string,
  text: string,
  prepare: (file: string, temporary: string) => Promise<void> = async () => undefined
): Promise<void> => {
  const file = await replaceableFile(given)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    await writeFile(temporary, text, { flag: "wx", mode: 0o600, flush: true })
    await prepare(file, temporary)
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}
