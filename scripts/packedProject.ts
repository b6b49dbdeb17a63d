import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Runs a program and returns its output. */
export const run = (command: string, args: ReadonlyArray<string>, cwd = process.cwd()): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] })

/** Packs the package into this folder, and returns the path of the archive. */
export const packArchive = (folder: string): string => {
  const [{ filename }] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", folder])) as [
    { readonly filename: string }
  ]
  return join(folder, filename)
}

/** An empty project with the packed package. */
export interface PackedProject extends Disposable {
  readonly folder: string
  /** The path of the archive. */
  readonly archive: string
}

/** `others` are also installed, in the versions of this project; the reference MCP server by default. */
export const makePackedProject = (
  others: ReadonlyArray<string> = ["@modelcontextprotocol/server-everything"]
): PackedProject => {
  const folder = mkdtempSync(join(tmpdir(), "a2c-package-"))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const { devDependencies } = JSON.parse(readFileSync("package.json", "utf8")) as {
      readonly devDependencies: { readonly [name: string]: string }
    }
    const archive = packArchive(folder)
    const empty = { name: "empty-project", version: "0.0.0", type: "module", private: true }
    writeFileSync(join(folder, "package.json"), JSON.stringify(empty))
    const packages = [archive, ...others.map((name) => `${name}@${devDependencies[name]}`)]
    run("npm", ["install", "--omit=dev", "--no-audit", "--no-fund", "--loglevel=error", ...packages], folder)
    return { folder, archive, [Symbol.dispose]: remove }
  } catch (error) {
    remove()
    throw error
  }
}
