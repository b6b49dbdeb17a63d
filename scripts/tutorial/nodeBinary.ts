import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { run } from "../packedProject.ts"

/** The folder of the newest `node` of a major version. npm installs it once, below `node_modules/.cache`. */
export const nodeFolder = (major: string): string => {
  const prefix = resolve("node_modules/.cache/tutorial", `node-${major}`)
  const binary = join(prefix, "node_modules/node/bin/node")
  if (!existsSync(binary)) {
    mkdirSync(prefix, { recursive: true })
    // The script of the package puts the binary in its place.
    writeFileSync(join(prefix, "package.json"), JSON.stringify({ private: true, allowScripts: { node: true } }))
    run("npm", ["install", "--prefix", prefix, "--no-audit", "--no-fund", "--loglevel=error", `node@${major}.x`])
  }
  return dirname(binary)
}
