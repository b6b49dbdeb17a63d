import { spawnSync } from "node:child_process"
import { globSync } from "node:fs"
import { join } from "node:path"

const root = join(import.meta.dirname, "../..")

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
    .flatMap((pattern) => globSync(pattern, { cwd: root }))
    .map((path) => join(root, path))
    .find((path) => spawnSync(path, ["--version"], { stdio: "ignore" }).status === 0)
