import { resolve } from "node:path"
import { Effect, FileSystem, Stream } from "effect"
import * as RulePolicy from "../../application/computer/calls/RulePolicy.ts"
import { parseRules } from "../../domain/policy/parseRules.ts"
import type { Rule } from "../../domain/policy/parseRules.ts"
import { failCommand } from "../CommandFailed.ts"
import { readDecodedFile } from "./configFiles.ts"
import { reloadOnChange } from "./fileChanges.ts"
import { parseYaml } from "./yaml.ts"

/** Reads a policy: YAML, of which JSON is a part. Fails with formatted diagnostics. */
const readPolicyFile = (
  file: string
): Effect.Effect<ReadonlyArray<Rule>, ReadonlyArray<string>, FileSystem.FileSystem> =>
  readDecodedFile(file, parseYaml, parseRules)

/** The policy of a file, which is read again on every change. An invalid file stops the start, and keeps later rules. */
export const policyOfFile = Effect.fnUntraced(function* (file: string) {
  const fs = yield* FileSystem.FileSystem
  const initial = yield* Effect.catch(readPolicyFile(file), (errors) => failCommand(errors.join("\n")))
  const updates = reloadOnChange([resolve(file)], initial, readPolicyFile(file), (errors) =>
    Effect.andThen(
      Effect.forEach(errors, (error) => Effect.logError(error), { discard: true }),
      Effect.logError("policy not reloaded", { reason: "invalid" })
    )
  ).pipe(Stream.tap((rules) => Effect.logInfo("policy reloaded", { rules: rules.length })))
  return RulePolicy.layer(initial, Stream.provideService(updates, FileSystem.FileSystem, fs))
})
