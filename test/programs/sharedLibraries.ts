import { readdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

/** The folders below this one that have shared libraries. */
const libraryFolders = (folder: string): ReadonlyArray<string> => [
  ...new Set(
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((name) => /\.so(\.|$)/.test(name))
      .map((name) => dirname(name))
  )
]

/** Writes the command `run` of a private copy: it starts a program with the libraries and variables of the copy. */
export const writeCommand = (
  folder: string,
  program: string,
  variables: { readonly [name: string]: string } = {}
): void => {
  const libraries = libraryFolders(folder).map((name) => `$here/${name}`)
  const assignments = Object.entries({ ...variables, LD_LIBRARY_PATH: libraries.join(":") })
  const lines = [
    "#!/bin/sh",
    'here=$(dirname "$0")',
    ...assignments.map(([name, value]) => `export ${name}="${value}"`),
    `exec "$here/${program}" "$@"`
  ]
  writeFileSync(join(folder, "run"), `${lines.join("\n")}\n`, { mode: 0o755 })
}
