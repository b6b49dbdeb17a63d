import { flag, makeCommandLine, number, texts, wholeNumber } from "../commandLine.ts"
import { exitCodes } from "./command.ts"

/** Seconds of faults, by default and with `--quick`. */
const defaultSeconds = { full: 120, quick: 12 }
const maxSeconds = 24 * 60 * 60
const maxSeeds = 1000
const defaultSeed = 1
const durations = `default ${defaultSeconds.full}, with --quick ${defaultSeconds.quick}`

const commandLine = makeCommandLine({
  seconds: number("N", `duration of the faults (${durations})`, [1, maxSeconds], undefined),
  seed: texts("S", `seed of the fault plan (default ${defaultSeed}); several seeds run one after the other`),
  seeds: number("N", "number of consecutive seeds, starting with --seed", [1, maxSeeds], undefined),
  quick: flag("two Servers, one office, and only faults that heal quickly"),
  json: flag("print the report as JSON")
})

/** Parses the command line. Throws an error that names the invalid option. */
export const readOptions = (args: ReadonlyArray<string>) => {
  const { seconds, seed, seeds: count, ...flags } = commandLine.parse(args)
  const named = seed.map((text) => wholeNumber("seed", text, [0, Number.MAX_SAFE_INTEGER - maxSeeds]))
  const [first = defaultSeed] = named
  if (count !== undefined && named.length > 1) {
    throw new Error("--seeds counts from one --seed: give several --seed, or --seeds with one")
  }
  const consecutive = Array.from({ length: count ?? 1 }, (_, index) => first + index)
  return {
    ...flags,
    seconds: seconds ?? (flags.quick ? defaultSeconds.quick : defaultSeconds.full),
    seeds: named.length > 1 ? named : consecutive
  }
}

export const helpText = `Tests whether calls are lost, mixed up or executed twice during faults.

npm run chaos -- [OPTIONS]

Servers on one Redis, Computers with MCP servers, and Agents that call them run as separate processes. Processes are
killed and stopped. Connections are cut, slowed and made half-open. Redis answers with errors, and proxies with their own
pages. Every call is recorded. The last line is the result.

${commandLine.help}

Exit codes
  ${exitCodes.fine}    all checks passed
  ${exitCodes.wrong}    a call was lost, had a wrong result, ended or was executed twice, or an Agent could not call a Computer of
       its office within a minute after the faults; or retries were too many or logged again, or a joined member ended
  ${exitCodes.usage}    the command line is invalid
  ${exitCodes.notJudged}    a run could not start, for example without Redis, or did not finish in time
  130  ended by a signal

Needs redis-server, or its path in REDIS_SERVER.
`
