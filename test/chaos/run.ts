/**
 * Tests whether calls are lost, mixed up or executed twice during faults.
 * Usage: node test/chaos/run.ts [--help]
 */
import { Effect, Exit, Result } from "effect"
import { optionsOrExit } from "../commandLine.ts"
import { largeMembers, smallMembers } from "./members.ts"
import { maxSecondsOf, runChaos } from "./chaos.ts"
import { helpText, readOptions } from "./options.ts"
import { messageOf, reporter, runCommand, within } from "./command.ts"
import { answerOf, exitCodeOf, type Run, formatRuns, formatRunsJson } from "./series.ts"

const program = Effect.gen(function* () {
  const { json, quick, seconds, seeds } = optionsOrExit(readOptions, helpText)
  const note = reporter()
  const runs = yield* Effect.forEach(
    seeds,
    Effect.fnUntraced(function* (seed) {
      const one = runChaos({ members: quick ? smallMembers : largeMembers, seconds, seed, quick, note })
      const exit = yield* Effect.exit(within(maxSecondsOf(seconds), Effect.scoped(one)))
      const run: Run = {
        seed,
        found: Exit.match(exit, {
          onFailure: (cause) => Result.fail(messageOf(cause)),
          onSuccess: Result.succeed
        })
      }
      note(answerOf([run]))
      return run
    })
  )
  process.stdout.write(json ? formatRunsJson(runs) : formatRuns(runs))
  process.exitCode = exitCodeOf(runs)
})

runCommand(program)
