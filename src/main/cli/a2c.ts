#!/usr/bin/env node
import { nodeVersionError } from "../entrypoints/nodeVersion.ts"

const problem = nodeVersionError()
// An old version of Node cannot load what the command imports.
if (problem === undefined) void import("./run.ts")
else {
  process.stderr.write(`a2c: ${problem}\n`)
  process.exitCode = 1
}
