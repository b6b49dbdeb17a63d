import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { bundleCommand } from "./bundleCommand.ts"

const root = join(import.meta.dirname, "../..")

/** The folder of the package with the command alone, in which npm packs and publishes it. */
export const commandFolder = join(root, "dist/command")

/** Files that the command reads, from the built or the source modules. */
const assets = {
  "dist/page": "dist/page",
  "src/adapters/packs/python/runner": "dist/adapters/packs/python/runner",
  "deploy/systemd": "deploy/systemd",
  "scripts/command/README.md": "README.md",
  LICENSE: "LICENSE"
}

/** What both packages state. */
type SharedFields = { readonly [field: string]: unknown } & {
  readonly version: string
  readonly peerDependencies: { readonly [name: string]: string }
}

const verel = "@bpinternal/verel"

/** The manifest of the package: the version and the origin of `package.json`, and no packages but an optional one. */
export const commandManifest = () => {
  const { bugs, engines, homepage, license, mcpName, peerDependencies, publishConfig, repository, type, version } =
    JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as SharedFields
  return {
    name: "a2c-cli",
    version,
    mcpName,
    description: "The command of A2C-SMCP: Servers, Computers and Agents, MCP servers of many machines in one office",
    keywords: ["a2c", "smcp", "mcp", "model-context-protocol", "agent", "cli"],
    homepage,
    bugs,
    repository,
    license,
    type,
    publishConfig,
    engines,
    bin: { a2c: "dist/main/cli/a2c.cjs" },
    files: ["dist", "deploy", "LICENSES.txt"],
    exports: { "./package.json": "./package.json" },
    // What packs import of the host, which has no other packages.
    imports: {
      "#effect": "./dist/shared/effect.js",
      "#effect/*": "./dist/shared/effect/*.js",
      "#zod": "./dist/shared/zod.js"
    },
    peerDependencies: { [verel]: peerDependencies[verel] },
    peerDependenciesMeta: { [verel]: { optional: true } }
  }
}

/** Writes the package of the command, from the sources and the built page. */
export const buildCommand = async (): Promise<void> => {
  const { files, licenses } = await bundleCommand({ minify: true })
  rmSync(commandFolder, { recursive: true, force: true })
  for (const { contents, path } of files) {
    const file = join(commandFolder, "dist", path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, contents)
  }
  chmodSync(join(commandFolder, "dist/main/cli/a2c.cjs"), 0o755)
  for (const [from, to] of Object.entries(assets)) {
    cpSync(join(root, from), join(commandFolder, to), {
      recursive: true,
      filter: (file) => !file.includes("__pycache__")
    })
  }
  writeFileSync(join(commandFolder, "LICENSES.txt"), licenses)
  writeFileSync(join(commandFolder, "package.json"), `${JSON.stringify(commandManifest(), null, 2)}\n`)
}
