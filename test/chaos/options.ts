import { parseArgs } from "node:util"
import { wholeNumber } from "../commandLine.ts"
import { exitCodes } from "./command.ts"

/** Options of a chaos run. */
interface Options {
  readonly seconds: number
  /** One run for each seed, one after the other. */
  readonly seeds: ReadonlyArray<number>
  readonly quick: boolean
  readonly json: boolean
  readonly help: boolean
}

/** Seconds of faults, by default and with `--quick`. */
const defaultSeconds = { full: 120, quick: 12 }
const maxSeconds = 24 * 60 * 60
const maxSeeds = 1000
const defaultSeed = 1

/** Parses the command line. Throws an error that names the invalid option. */
export const readOptions = (args: ReadonlyArray<string>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string" },
      seed: { type: "string", multiple: true },
      seeds: { type: "string" },
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  const { help, json, quick, seed = [String(defaultSeed)] } = values
  const named = seed.map((text) => wholeNumber("seed", text, defaultSeed, [0, Number.MAX_SAFE_INTEGER - maxSeeds]))
  const count = wholeNumber("seeds", values.seeds, 1, [1, maxSeeds])
  const [first = defaultSeed] = named
  if (values.seeds !== undefined && named.length > 1) {
    throw new Error("--seeds counts from one --seed: give several --seed, or --seeds with one")
  }
  const defaults = quick ? defaultSeconds.quick : defaultSeconds.full
  return {
    seconds: wholeNumber("seconds", values.seconds, defaults, [1, maxSeconds]),
    seeds: values.seeds === undefined ? named : Array.from({ length: count }, (_, index) => first + index),
    quick,
    json,
    help
  }
}

export const helpText = `Tests whether calls are lost, mixed up or executed twice during faults.

npm run chaos -- [OPTIONS]

Servers on one Redis, Computers with MCP servers, and Agents that call them run as separate processes. Processes are
killed and stopped. Connections are cut, slowed and made half-open. Redis answers with errors, and proxies with their own
pages. Every call is recorded. The last line is the result.

  --seconds N   duration of the faults (default ${defaultSeconds.full}, with --quick ${defaultSeconds.quick})
  --seed S      seed of the fault plan (default ${defaultSeed}); several seeds run one after the other
  --seeds N     number of consecutive seeds, starting with --seed
  --quick       two Servers, one office, and only faults that heal quickly
  --json        print the report as JSON
  --help        print this text

Exit codes
  ${exitCodes.fine}    all checks passed
  ${exitCodes.wrong}    a call was lost, had a wrong result, ended or was executed twice, or an Agent could not call a Computer of
       its office within a minute after the faults; or retries were too many or logged again, or a joined member ended
  ${exitCodes.usage}    the command line is invalid
  ${exitCodes.notJudged}    a run could not start, for example without Redis, or did not finish in time
  130  ended by a signal

Needs redis-server, or its path in REDIS_SERVER.
`
