import { Console, Effect, Option } from "effect"
import { generateApiKey, decodeApiKeyEntries } from "../../../adapters/auth/apiKeyEntries.ts"
import { type ValidationIssue, formatIssues } from "../../../domain/validation.ts"
import type { Right } from "../../../domain/model/Identity.ts"
import { failCommand } from "../CommandFailed.ts"

/** What the command line says about a new key. */
export interface KeyCommandOptions {
  readonly subject: string
  readonly rights: ReadonlyArray<Right>
  readonly offices: ReadonlyArray<string>
  readonly names: ReadonlyArray<string>
  readonly expires: Option.Option<string>
}

/** Prints a new key on stdout, where it can be sent to its file, and on stderr what the file of keys needs for it. */
export const printKey = Effect.fnUntraced(function* (options: KeyCommandOptions) {
  const { expires, names, offices, rights, subject } = options
  const { entry, key } = yield* generateApiKey(
    subject,
    { rights, offices, names },
    Option.getOrUndefined(expires)
  )
  const read = decodeApiKeyEntries({ keys: [entry] })
  // There is no file yet whose first entry this would be.
  const inEntry = ({ issue, path }: ValidationIssue): ValidationIssue => ({ issue, path: path.slice(2) })
  if (read._tag === "Failure") return yield* failCommand(formatIssues(read.failure.map(inEntry)))
  yield* Console.error('Add this to "keys" in the file of --api-keys; the key itself is shown only now:')
  yield* Console.error(JSON.stringify(entry))
  yield* Console.log(key)
})
