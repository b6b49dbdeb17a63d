/** Imported first by the entry points of Node: fails before anything else runs on a version of Node that is too old. */
import { nodeVersionError } from "./nodeVersion.ts"

const problem = nodeVersionError()
if (problem !== undefined) throw new Error(`a2c-smcp: ${problem}`)
