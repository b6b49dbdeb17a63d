import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { commandFolder } from "./command/buildCommand.ts"

/** Runs a program and returns its output. */
export const run = (
  command: string,
  args: ReadonlyArray<string>,
  cwd = process.cwd(),
  variables: { readonly [name: string]: string } = {}
): string =>
  execFileSync(command, args, {
    cwd,
    env: { ...process.env, ...variables },
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"]
  })

const pack = (source: string, folder: string): string => {
  const [{ filename }] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", folder, source])) as [
    { readonly filename: string }
  ]
  return join(folder, filename)
}

/** The paths of the archives of both packages. */
export interface Archives {
  readonly library: string
  readonly command: string
}

/** Builds and packs both packages into this folder. */
export const packArchives = (folder: string): Archives => {
  // Packing this one builds both.
  const library = pack(".", folder)
  if (!existsSync(commandFolder)) throw new Error(`the build left no ${commandFolder}`)
  return { library, command: pack(commandFolder, folder) }
}

/** An empty project with packed packages. */
export interface PackedProject extends Disposable {
  readonly folder: string
}

/** Installs these packages into an empty project, those of `devDependencies` in the version of this project. */
export const makePackedProject = (packages: ReadonlyArray<string>): PackedProject => {
  const folder = mkdtempSync(join(tmpdir(), "a2c-package-"))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
      readonly devDependencies: { readonly [name: string]: string }
    }
    const empty = { name: "empty-project", version: "0.0.0", type: "module", private: true }
    writeFileSync(join(folder, "package.json"), JSON.stringify(empty))
    const versions = packages.map((name) =>
      devDependencies[name] === undefined ? name : `${name}@${devDependencies[name]}`
    )
    run("npm", ["install", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error", ...versions], folder)
    return { folder, [Symbol.dispose]: remove }
  } catch (error) {
    remove()
    throw error
  }
}

/** A temporary folder. */
export const makeFolder = (): PackedProject => {
  const folder = mkdtempSync(join(tmpdir(), "a2c-archives-"))
  return { folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}
