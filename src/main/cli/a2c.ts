#!/usr/bin/env node
import nodeModule from "node:module"
import { userCacheFolder } from "../../adapters/process/userFolders.ts"
import { setOptimization } from "../../adapters/process/optimization.ts"
import { nodeVersionError } from "../entrypoints/nodeVersion.ts"

const words = process.argv.slice(2)
/** The name of the command: the first word that is neither a flag nor its value. */
const command = words.find((word, index) => !word.startsWith("-") && !/^-[^=]+$/.test(words[index - 1] ?? ""))

const problem = nodeVersionError()
if (problem === undefined) {
  if (command === "server" || command === "computer") setOptimization(false)
  // Keeps the compiled code between runs: they start in less time.
  const folder = userCacheFolder("compiled")
  if (folder !== undefined) (nodeModule as Partial<typeof nodeModule>).enableCompileCache?.(folder)
  // Packs import the modules of effect from the program that loads them, which therefore has all of them.
  void (command === "tools" || command === "demo" ? import("./runWithPacks.ts") : import("./run.ts"))
} else {
  // An old version of Node cannot load what the command imports.
  process.stderr.write(`a2c: ${problem}\n`)
  process.exitCode = 1
}
