import { readdir, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer, Result } from "effect"
import { parse } from "yaml"
import { FolderUnreadable, type PackFolderEntry, PackFolders } from "../../../application/ports/packs/PackFolders.ts"
import { fingerprint, isExcluded } from "./fingerprint.ts"
import { thrownMessage } from "../execution/thrown.ts"
import { watchFolders } from "../../folders/watchFolders.ts"
import { systemErrorCode } from "../../../domain/errorMessage.ts"

/** In order of priority. */
const configFileNames = ["config.yaml", "config.yml"] as const

/** In characters. */
const maxConfigLength = 256 * 1024

const maxEntries = 1000

const isNotFound = (error: unknown): boolean => systemErrorCode(error) === "ENOENT"

const readConfig = async (folder: string, files: ReadonlyArray<string>): Promise<PackFolderEntry["config"]> => {
  const name = configFileNames.find((one) => files.includes(one))
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
    return isNotFound(error) ? undefined : { name, path, files: [], config: undefined, version: "unreadable" }
  }
}

const scan = async (folder: string): Promise<ReadonlyArray<PackFolderEntry>> => {
  const found: Array<PackFolderEntry> = []
  const present = await readdir(folder).catch((error) => {
    if (isNotFound(error)) return []
    throw error
  })
  const names = present.filter((name) => !isExcluded(name)).toSorted()
  for (const name of names.slice(0, maxEntries)) {
    const entry = await findEntry(folder, name)
    if (entry !== undefined) found.push(entry)
  }
  return found
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
