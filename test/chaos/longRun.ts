/**
 * Tests whether the memory of a Server stays flat under mixed load.
 * Usage: node test/chaos/longRun.ts [--help]
 */
import { Cause, Effect, Exit, References } from "effect"
import { flag, makeCommandLine, number, optionsOrExit } from "../commandLine.ts"
import { exitCodes, messageOf, reporter, runCommand, within } from "./command.ts"
import { type Growth, growthOf, judge, warmUp } from "./growth.ts"
import { startMixedLoad } from "./mixedLoad.ts"
import { sample, startServer } from "./sampling.ts"
import { certainty } from "./slope.ts"

const defaults = { minutes: 30, bound: 1024 }

const commandLine = makeCommandLine({
  minutes: number("N", `duration (default ${defaults.minutes})`, [1, 7 * 24 * 60], defaults.minutes),
  bound: number(
    "KB",
    `allowed growth of live memory in KB per hour (default ${defaults.bound})`,
    [1, 1_000_000],
    defaults.bound
  ),
  json: flag("print the report as JSON")
})

const helpText = `Tests whether the memory of a Server stays flat under mixed load.

npm run long-run -- [OPTIONS]

A Server runs as a separate process. Agents and Computers make small and large calls, cancel calls, change tools, join
and leave, and lose their connections. Every few seconds the load rests, and the live memory of the Server is sampled
after a collection. The first ${100 * warmUp} % of the samples, and at least two minutes, are warm-up and do not count. The last line
is the result.

${commandLine.help}

Exit codes
  ${exitCodes.fine}    live memory grows by less than the bound, by a margin of ${certainty} standard errors
  ${exitCodes.wrong}    live memory grows by more, a result was wrong, files, handles, members or calls remain, or the Server
       ended unexpectedly
  ${exitCodes.usage}    the command line is invalid
  ${exitCodes.notJudged}    the run was too short for a verdict, or could not run
  130  ended by a signal
`

/** Seconds beside the load: the start, the last rest, the end. */
const spareTime = 180

/** Maximum increase of open files or handles, since some belong to changing connections. */
const spare = 8

const table = (growth: ReadonlyArray<Growth>): ReadonlyArray<string> => {
  const row = (what: string, ...cells: ReadonlyArray<string>) =>
    [what.padEnd(20), ...cells.map((cell) => cell.padStart(15))].join("")
  return [
    row("", "first quarter", "last quarter", "per hour", "std. error"),
    ...growth.map(({ error, first, last, slope, what }) =>
      row(what, ...[first, last, slope, error].map((value) => value.toFixed(1)))
    )
  ]
}

const run = Effect.fnUntraced(function* (minutes: number) {
  const server = yield* startServer
  const load = yield* startMixedLoad(server.port)
  const samples = yield* Effect.raceFirst(sample(server, load, minutes, reporter()), server.died)
  return { samples, done: load.done() }
}, Effect.scoped)

const program = Effect.gen(function* () {
  const { bound, json, minutes } = optionsOrExit(commandLine.parse, helpText)
  const exit = yield* Effect.exit(within(minutes * 60 + spareTime, run(minutes)))
  if (Exit.isFailure(exit)) {
    process.stderr.write(`${messageOf(exit.cause)}\n`)
    process.exitCode = Cause.hasFails(exit.cause) ? exitCodes.wrong : exitCodes.notJudged
    return
  }
  const { done, samples } = exit.value
  const growth = growthOf(samples.taken)
  const { verdict, words } = judge(samples.taken, bound, minutes)
  const problems = [
    ...(done.wrong.length > 0 ? [`${done.wrong.length} wrong: ${done.wrong.slice(0, 5).join(", ")}`] : []),
    ...samples.left,
    ...growth.flatMap(({ first, last, what }) =>
      ["open files", "handles and timers"].includes(what) && last - first > spare
        ? [`${(last - first).toFixed(1)} more ${what} at the end than at the start`]
        : []
    )
  ]
  if (json) {
    const { taken } = samples
    process.stdout.write(
      `${JSON.stringify({ minutes, bound, verdict, words, growth, problems, ...done, samples: taken })}\n`
    )
  } else {
    const counts = Object.entries(done.counts).map(([what, times]) => `${String(times).padStart(8)}  ${what}`)
    process.stdout.write([...counts, "", ...table(growth), "", ...problems, words, ""].join("\n"))
  }
  if (verdict === "Above" || problems.length > 0) process.exitCode = exitCodes.wrong
  else if (verdict === "TooShort") process.exitCode = exitCodes.notJudged
})

runCommand(Effect.provideService(program, References.MinimumLogLevel, "None"))
