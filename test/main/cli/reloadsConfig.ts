import { writeFileSync } from "node:fs"
import { Effect } from "effect"
import type { CommandOutput } from "../output.ts"

/** Rules that deny calls of the tool `work`. */
export const denyingPolicy = (reason: string) => `rules: [{ tool: work, action: deny, reason: ${reason} }]`

/** Whether a running command reloads its configuration after a change. Its policy must also be in a file. */
export const reloadsConfig = Effect.fnUntraced(function* (
  command: CommandOutput<unknown>,
  { config, policy }: { readonly config: string; readonly policy: string },
  changed: string,
  isExpected: boolean
) {
  writeFileSync(config, changed)
  // A change of the policy always shows, and later than an earlier one of the configuration.
  for (const times of [1, 2]) {
    writeFileSync(policy, denyingPolicy(`change ${times}`))
    yield* command.prints("policy reloaded", "stderr", times)
  }
  if (isExpected) yield* command.prints("configuration reloaded", "stderr")
  return command.stderr().includes("configuration reloaded")
})
