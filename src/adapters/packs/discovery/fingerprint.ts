import { createHash, hash } from "node:crypto"
import { lstat, readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { isGeneratedManifest } from "../install/installState.ts"

/** Files per pack; files of a folder come before its subfolders. */
const maxFiles = 2000

const maxDepth = 16

/** Larger files are compared by size and modification time. */
const maxHashedBytes = 1024 * 1024

/** True for installed and hidden entries: they are not part of the pack. */
export const isExcluded = (name: string): boolean =>
  name === "node_modules" || name === "__pycache__" || name === "package-lock.json" || name.startsWith(".")

/** Hash of a file; undefined when it is not part of the pack or no longer exists. */
const fileDigest = async (name: string, path: string): Promise<string | undefined> => {
  try {
    const found = await stat(path)
    const { mtimeMs, size } = found
    // Reading a pipe or a device can block forever.
    if (!found.isFile()) return undefined
    if (size > maxHashedBytes) return `${size} ${mtimeMs}`
    const content = await readFile(path)
    if (name === "package.json" && isGeneratedManifest(content.toString())) return undefined
    return hash("sha256", content)
  } catch {
    // The watcher reports the removal.
    return undefined
  }
}

/** Sorted, with folders last, so the file limit never excludes the tool itself. Empty when the folder is unreadable. */
const listNames = async (folder: string): Promise<ReadonlyArray<string>> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const names = (areFolders: boolean) =>
    entries.flatMap((entry) => (entry.isDirectory() === areFolders ? [entry.name] : [])).toSorted()
  return [...names(false), ...names(true)].filter((name) => !isExcluded(name))
}

/**
 * Computes a version of a pack from the contents of its files, so rewriting the same content is no change. Covers up
 * to 2000 files and 16 levels; ignores installed, hidden and generated files.
 */
export const fingerprint = async (path: string): Promise<string> => {
  const version = createHash("sha256")
  let remainingFiles = maxFiles
  const visit = async (name: string, relativePath: string, depth: number): Promise<void> => {
    if (remainingFiles <= 0) return
    const absolutePath = join(path, relativePath)
    // Links to folders below the pack are not followed: they can form cycles.
    const found = await (depth === 0 ? stat(path) : lstat(absolutePath).catch(() => undefined))
    if (found?.isDirectory()) {
      if (depth >= maxDepth) return
      for (const member of await listNames(absolutePath)) {
        await visit(member, relativePath === "" ? member : `${relativePath}/${member}`, depth + 1)
      }
      return
    }
    const digest = await fileDigest(name, absolutePath)
    if (digest === undefined) return
    remainingFiles--
    version.update(`${relativePath}\n${digest}\n`)
  }
  await visit("", "", 0)
  return version.digest("hex").slice(0, 32)
}
