#!/usr/bin/env node
import nodeModule from "node:module"
import { userCacheFolder } from "../../adapters/process/userFolders.ts"
import { nodeVersionError } from "../entrypoints/nodeVersion.ts"

/** Keeps the compiled code between runs: they start in less time. */
const keepCompiledCode = (): void => {
  const folder = userCacheFolder("compiled")
  if (folder !== undefined) (nodeModule as Partial<typeof nodeModule>).enableCompileCache?.(folder)
}

const problem = nodeVersionError()
if (problem === undefined) {
  keepCompiledCode()
  void import("./run.ts")
} else {
  // An old version of Node cannot load what the command imports.
  process.stderr.write(`a2c: ${problem}\n`)
  process.exitCode = 1
}
