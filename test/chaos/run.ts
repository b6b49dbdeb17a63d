/**
 * Do calls get lost, mixed up or executed twice while things go wrong?
 * Usage: node test/chaos/run.ts [--help]
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Effect } from "effect"
import { runChaos } from "./chaos.ts"
import { largeCast, smallCast } from "./Fleet.ts"
import { helpText, readOptions } from "./options.ts"
import { reporter, usageOr } from "./command.ts"
import { problemsOf, spellJson, spellTable } from "./report.ts"

const program = Effect.gen(function* () {
  const { help, json, quick, seconds, seed } = yield* usageOr(() => readOptions(process.argv.slice(2)))
  if (help) return void process.stdout.write(helpText)
  const report = yield* Effect.scoped(
    runChaos({ cast: quick ? smallCast : largeCast, seconds, seed, quick, note: reporter() })
  )
  process.stdout.write(json ? spellJson(report) : spellTable(report))
  if (problemsOf(report).length > 0) process.exitCode = 1
})

NodeRuntime.runMain(program)
