import { basename } from "node:path"
import { Effect } from "effect"
import { Agent } from "../../../../application/agent/Agent.ts"
import { definedOnly } from "../../../../domain/objects.ts"
import { readBytes } from "../../arguments/readFiles.ts"
import { failCommand } from "../../../CommandFailed.ts"
import { printResult } from "../../output/print.ts"
import { runAsAgent } from "../actions.ts"
import { targetComputers } from "../queries.ts"
import type { PutOptions } from "../flags.ts"

/** In bytes: Computers take no larger files by default. */
const maxFileBytes = 100 * 1024 * 1024

/** Stores a file on a Computer, and prints its path there. */
export const putFile = Effect.fnUntraced(function* (options: PutOptions) {
  const { as = options.file === "-" ? undefined : basename(options.file), file } = options
  const bytes = yield* readBytes(file, maxFileBytes)
  const [computer, ...others] = yield* targetComputers(options)
  if (computer === undefined || others.length > 0) {
    return yield* failCommand("Several Computers are in this office: choose one by --computer")
  }
  const stored = yield* Agent.use(({ putBlob }) => putBlob(computer, bytes, definedOnly({ nameHint: as })))
  yield* printResult(options, { computer, ...stored }, stored.landingPath)
}, runAsAgent)
