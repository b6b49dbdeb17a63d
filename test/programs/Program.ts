import { accessSync, constants, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { delimiter, join } from "node:path"

/** A program that some tests need and that is not part of Node. */
export interface Program {
  readonly name: string
  /** The environment variable with its path. */
  readonly variable: string
  /** The names of its command. */
  readonly commands: ReadonlyArray<string>
  /** How a person makes it available. */
  readonly advice: string
  /** Says what `install` does, for the output of the tests. */
  readonly installation: string
  /** Makes a private copy in this folder without a password, whose command is `run`. Rejects where it cannot. */
  readonly install: (folder: string) => Promise<void>
}

/** Private copies of programs; `npm install` in an empty folder starts without them. */
const copies = join(import.meta.dirname, "../../node_modules/.cache/a2c-test-programs")

const isExecutable = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Returns the path of a program: the one in its variable, else on the `PATH`, else the private copy. */
export const locate = ({ commands, name, variable }: Program): string | undefined => {
  const chosen = process.env[variable]
  if (chosen !== undefined) return isExecutable(chosen) ? chosen : undefined
  const folders = (process.env["PATH"] ?? "").split(delimiter).filter((folder) => folder !== "")
  const candidates = commands.flatMap((command) => folders.map((folder) => join(folder, command)))
  return [...candidates, join(copies, name, "run")].find(isExecutable)
}

/** Makes the private copy of a program. An interrupted attempt leaves none. */
export const install = async ({ install: fill, name }: Program): Promise<void> => {
  mkdirSync(copies, { recursive: true })
  const folder = mkdtempSync(join(copies, "new-"))
  try {
    await fill(folder)
    rmSync(join(copies, name), { recursive: true, force: true })
    renameSync(folder, join(copies, name))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
