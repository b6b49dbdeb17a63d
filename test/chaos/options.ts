import { parseArgs } from "node:util"
import { wholeNumber } from "../commandLine.ts"
import { exitCodes } from "./command.ts"

/** What is asked of a run of chaos. */
interface Options {
  readonly seconds: number
  /** One run for each, one after the other. */
  readonly seeds: ReadonlyArray<number>
  readonly quick: boolean
  readonly json: boolean
  readonly help: boolean
}

/** Seconds for which things go wrong, usually and with `--quick`. */
const defaultSeconds = { full: 120, quick: 12 }
const maxSeconds = 24 * 60 * 60
const maxSeeds = 1000
const defaultSeed = 1

/** Reads the command line. Throws an error whose message says what is wrong with it. */
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
  const named = seed.map((text) =>
    wholeNumber("seed", text, defaultSeed, [0, Number.MAX_SAFE_INTEGER - maxSeeds])
  )
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

/** What `--help` says. */
export const helpText = `Do calls get lost, mixed up or executed twice while things go wrong?

npm run chaos -- [OPTIONS]

Servers on one Redis, Computers with MCP servers and Agents that call them run as processes of their own. Processes
are killed and stopped, ways are cut, slowed and made half-open; every call is followed. The last line is the answer.

  --seconds N   how long things go wrong (${defaultSeconds.full}, with --quick ${defaultSeconds.quick})
  --seed S      another order of events (${defaultSeed}); several of them run one after the other
  --seeds N     so many orders of events, from that of --seed on
  --quick       two Servers, one office, and nothing that takes long to heal
  --json        the report for programs
  --help        this text

Ends with
  ${exitCodes.fine}    when all is fine
  ${exitCodes.wrong}    when a call was lost, answered wrongly or twice, or executed twice, or when not every Agent can call every
       Computer of its office again within a minute
  ${exitCodes.usage}    when the command was not understood
  ${exitCodes.notJudged}    when a run could not begin, as without Redis, or did not come to an end in time
  130  when a signal ended it

Needs redis-server, or its path in REDIS_SERVER.
`
