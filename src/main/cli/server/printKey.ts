import { Effect } from "effect"
import { generateApiKey, decodeApiKeyEntries } from "../../../adapters/auth/apiKeyEntries.ts"
import { type ValidationIssue, formatIssues } from "../../../domain/validation.ts"
import { failCommand } from "../CommandFailed.ts"
import { print, printError } from "../output/print.ts"
import type { KeyCommandOptions } from "./flags.ts"

/** Prints a new key to stdout, for its file, and to stderr the entry for the key file of the Server. */
export const printKey = Effect.fnUntraced(function* (options: KeyCommandOptions) {
  const { expires, names, offices, rights, subject } = options
  const { entry, key } = yield* generateApiKey(subject, { rights, offices, names }, expires)
  const read = decodeApiKeyEntries({ keys: [entry] })
  // Without a file the position of the entry means nothing.
  const inEntry = ({ issue, path }: ValidationIssue): ValidationIssue => ({ issue, path: path.slice(2) })
  if (read._tag === "Failure") return yield* failCommand(formatIssues(read.failure.map(inEntry)))
  yield* printError('Add this to "keys" in the file of --api-keys. The key is shown only once:')
  yield* printError(JSON.stringify(entry))
  yield* print(key)
})
