import { createHash } from "node:crypto"
import { lstat, readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { isGeneratedManifest } from "../install/installState.ts"

/** So many files of one pack are looked at, those of a folder before those of the folders in it. */
const maxFiles = 2000

/** So deep the folders of a pack are looked into. */
const maxDepth = 16

/** Larger files are known by size and time alone, in bytes. */
const maxHashedBytes = 1024 * 1024

/** What is installed, and what is hidden: neither is the pack. */
export const isExcluded = (name: string): boolean =>
  name === "node_modules" || name === "__pycache__" || name === "package-lock.json" || name.startsWith(".")

/** What a file is, or nothing when it is no part of the pack or just gone. */
const fileDigest = async (name: string, path: string): Promise<string | undefined> => {
  try {
    const found = await stat(path)
    const { mtimeMs, size } = found
    // Pipes and devices may never end to be read.
    if (!found.isFile()) return undefined
    if (size > maxHashedBytes) return `${size} ${mtimeMs}`
    const content = await readFile(path)
    if (name === "package.json" && isGeneratedManifest(content.toString())) return undefined
    return createHash("sha256").update(content).digest("hex")
  } catch {
    // It was there a moment ago: who watches the folder will look again.
    return undefined
  }
}

/**
 * Names of what lies in a folder, in order, folders last: however much those hold, the tool itself is looked at. None
 * when it is gone or closed.
 */
const listNames = async (folder: string): Promise<ReadonlyArray<string>> => {
  try {
    const entries = (await readdir(folder, { withFileTypes: true })).filter(({ name }) => !isExcluded(name))
    const names = (areFolders: boolean) =>
      entries.flatMap((entry) => (entry.isDirectory() === areFolders ? [entry.name] : [])).toSorted()
    return [...names(false), ...names(true)]
  } catch {
    return []
  }
}

/** Is it a folder? Links are not followed into folders, which may lead in circles. */
const isFolder = (path: string): Promise<boolean> =>
  lstat(path).then(
    (found) => found.isDirectory(),
    () => false
  )

/**
 * A text that changes whenever a file of a pack does: by content, so that writing the same again is no change. What is
 * installed, hidden or written by us does not count, nor does anything beyond 2000 files or 16 levels.
 */
export const fingerprint = async (path: string): Promise<string> => {
  const hash = createHash("sha256")
  let remainingFiles = maxFiles
  const visit = async (name: string, relativePath: string, depth: number): Promise<void> => {
    if (remainingFiles <= 0) return
    if (depth === 0 ? (await stat(path)).isDirectory() : await isFolder(join(path, relativePath))) {
      if (depth >= maxDepth) return
      for (const member of await listNames(join(path, relativePath))) {
        await visit(member, relativePath === "" ? member : `${relativePath}/${member}`, depth + 1)
      }
      return
    }
    const digest = await fileDigest(name, join(path, relativePath))
    if (digest === undefined) return
    remainingFiles--
    hash.update(`${relativePath}\n${digest}\n`)
  }
  await visit("", "", 0)
  return hash.digest("hex").slice(0, 32)
}
