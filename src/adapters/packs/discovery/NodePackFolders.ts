import { lstat, readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { createHash, hash } from "node:crypto"
import { Effect, Layer, Result } from "effect"
import { parse } from "yaml"
import { FolderUnreadable, type PackFolderEntry, PackFolders } from "../../../application/ports/packs/PackFolders.ts"
import { thrownMessage } from "../../tools/runPackCode.ts"
import { watchFolders } from "../../folders/watchFolders.ts"
import { orUndefinedIfMissing, systemErrorCode } from "../../../domain/errorMessage.ts"
import { isGeneratedManifest } from "../install/NpmInstaller.ts"

/** Files per pack; files of a folder come before its subfolders. */
const maxFiles = 2000

const maxDepth = 16

/** Larger files are compared by size and modification time. */
const maxHashedBytes = 1024 * 1024

/** True for installed and hidden entries: they are not part of the pack. */
const isExcluded = (name: string): boolean =>
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
const fingerprint = async (path: string): Promise<string> => {
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

/** In characters. */
const maxConfigLength = 256 * 1024

const maxEntries = 1000

const readConfig = async (folder: string, files: ReadonlyArray<string>): Promise<PackFolderEntry["config"]> => {
  const name = ["config.yaml", "config.yml"].find((one) => files.includes(one))
  if (name === undefined) return undefined
  const text = await readFile(join(folder, name), "utf8")
  if (text.length > maxConfigLength) return Result.fail(`it is longer than ${maxConfigLength} characters`)
  return Result.try({
    // Nested aliases expand exponentially.
    try: (): unknown => parse(text, { maxAliasCount: 100 }),
    catch: (error) => thrownMessage(error).split("\n", 1)[0] ?? "invalid YAML"
  })
}

const listFiles = async (folder: string): Promise<ReadonlyArray<string>> => {
  const names: Array<string> = []
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    // A link can be broken: editors leave such links beside open files.
    const found = entry.isSymbolicLink() ? await stat(join(folder, entry.name)).catch(() => undefined) : entry
    if (found?.isFile()) names.push(entry.name)
  }
  return names.toSorted()
}

/** Reads one entry; undefined when it no longer exists. An unreadable folder has no files. */
const findEntry = async (folder: string, name: string): Promise<PackFolderEntry | undefined> => {
  const path = join(folder, name)
  try {
    const isDirectory = (await stat(path)).isDirectory()
    // Computed first: a change during the scan leads to another version and another scan.
    const version = await fingerprint(path)
    if (!isDirectory) return { name, path, files: undefined, config: undefined, version }
    const files = await listFiles(path)
    return { name, path, files, config: await readConfig(path, files), version }
  } catch (error) {
    if (systemErrorCode(error) === "ENOENT") return undefined
    return { name, path, files: [], config: undefined, version: "unreadable" }
  }
}

const scan = async (folder: string): Promise<ReadonlyArray<PackFolderEntry>> => {
  const found: Array<PackFolderEntry | undefined> = []
  const present = (await readdir(folder).catch(orUndefinedIfMissing)) ?? []
  const names = present.filter((name) => !isExcluded(name)).toSorted()
  for (const name of names.slice(0, maxEntries)) found.push(await findEntry(folder, name))
  return found.filter((entry) => entry !== undefined)
}

/**
 * Scans and watches folders on disk. Ignores hidden entries and `node_modules`, so packs can keep data in hidden
 * files; a change of any other file reloads the pack.
 */
export const layer: Layer.Layer<PackFolders> = Layer.succeed(PackFolders, {
  scan: (folder) =>
    Effect.tryPromise({
      try: () => scan(folder),
      catch: (error) =>
        new FolderUnreadable({ message: `the folder ${folder} cannot be read: ${thrownMessage(error)}` })
    }),
  watch: (folders) => watchFolders(folders, isExcluded)
})
