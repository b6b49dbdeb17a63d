import { resolve } from "node:path"
import { Effect, FileSystem, Stream } from "effect"
import * as RulePolicy from "../../application/computer/calls/RulePolicy.ts"
import { parseRules } from "../../domain/policy/parseRules.ts"
import { failCommand } from "../CommandFailed.ts"
import { readDecodedFile, yaml } from "./documents.ts"
import { reloadOnChange } from "./fileChanges.ts"

/** The policy of a file, which is read again on every change. An invalid file stops the start, and keeps later rules. */
export const policyOfFile = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  // JSON is a part of YAML.
  const read = readDecodedFile(file, yaml, parseRules)
  const initial = yield* Effect.catch(read, (errors) => failCommand(errors.join("\n")))
  const updates = reloadOnChange([resolve(file)], initial, read, (errors) =>
    Effect.andThen(
      Effect.forEach(errors, (error) => Effect.logError(error), { discard: true }),
      Effect.logError("policy not reloaded", { reason: "invalid" })
    )
  ).pipe(Stream.tap((rules) => Effect.logInfo("policy reloaded", { rules: rules.length })))
  return RulePolicy.layer(initial, Stream.provideService(updates, FileSystem.FileSystem, fs))
})
