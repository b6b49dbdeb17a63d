import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"

type Contents = string | Uint8Array

const replaceFile = (path: string, contents: Contents): void => {
  if (existsSync(path) && readFileSync(path).equals(Buffer.from(contents))) return
  writeFileSync(`${path}.${process.pid}`, contents)
  renameSync(`${path}.${process.pid}`, path)
}

/** Writes the files of a folder while other processes may read it, and removes those of other names that are older. */
export const replaceFiles = (
  folder: string,
  files: Iterable<readonly [name: string, contents: Contents]>,
  olderThan = 0
): void => {
  const current = new Map(files)
  mkdirSync(folder, { recursive: true })
  for (const [name, contents] of current) replaceFile(join(folder, name), contents)
  for (const name of readdirSync(folder)) {
    const written = statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
    if (!current.has(name) && Date.now() - written >= olderThan) rmSync(join(folder, name), { force: true })
  }
}
