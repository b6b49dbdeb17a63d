#!/usr/bin/env node
import { existsSync } from "node:fs"
import nodeModule from "node:module"
import { userCacheFolder } from "../../adapters/process/userFolders.ts"
import { nodeVersionError } from "../entrypoints/nodeVersion.ts"

/** The bundled command of the package. It has a copy of `ws`, which Bun replaces. */
const bundle = new URL("../../command/run.js", import.meta.url)

/** Commands without packs. Packs share packages with the command, as modules do; the bundle has copies. */
const bundledCommands = ["agent", "computer", "devices", "server"]

/** Arguments by which other commands run: the wizard offers all of them. */
const otherCommands = ["tools", "demo", "--wizard"]

const args = process.argv.slice(2)
const mayLoadPacks = !bundledCommands.includes(args[0] ?? "") && args.some((arg) => otherCommands.includes(arg))

/** Keeps the compiled code between runs: they start in less time. */
const keepCompiledCode = (): void => {
  const folder = userCacheFolder("compiled")
  if (folder !== undefined) (nodeModule as Partial<typeof nodeModule>).enableCompileCache?.(folder)
}

const problem = nodeVersionError()
// An old version of Node cannot load what the command imports.
if (problem !== undefined) {
  process.stderr.write(`a2c: ${problem}\n`)
  process.exitCode = 1
} else if (mayLoadPacks || process.versions["bun"] !== undefined || !existsSync(bundle)) void import("./run.ts")
else {
  keepCompiledCode()
  void import(bundle.href)
}
