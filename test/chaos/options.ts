import { parseArgs } from "node:util"
import { wholeNumber } from "../commandLine.ts"

export { wholeNumber }

/** What is asked of a run of chaos. */
interface Options {
  readonly seconds: number
  readonly seed: number
  readonly quick: boolean
  readonly json: boolean
  readonly help: boolean
}

/** Seconds for which things go wrong, usually and with `--quick`. */
const usualSeconds = { full: 120, quick: 12 }
const mostSeconds = 24 * 60 * 60
const usualSeed = 1

/** Reads the command line. Throws an error whose message says what is wrong with it. */
export const readOptions = (args: ReadonlyArray<string>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: "string" },
      seed: { type: "string" },
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  const { help, json, quick } = values
  return {
    seconds: wholeNumber("seconds", values.seconds, quick ? usualSeconds.quick : usualSeconds.full, [
      1,
      mostSeconds
    ]),
    seed: wholeNumber("seed", values.seed, usualSeed, [0, Number.MAX_SAFE_INTEGER]),
    quick,
    json,
    help
  }
}

/** What `--help` says. */
export const helpText = `Do calls get lost, mixed up or executed twice while things go wrong?

npm run chaos -- [OPTIONS]

Servers on one Redis, Computers with MCP servers and Agents that call them run as processes of their own. Processes
are killed and stopped, ways are cut, slowed and made half-open; every call is followed.

  --seconds N   how long things go wrong (${usualSeconds.full}, with --quick ${usualSeconds.quick})
  --seed S      another order of events (${usualSeed})
  --quick       two Servers, one office, and nothing that takes long to heal
  --json        the report for programs
  --help        this text

Ends with 1 when a call was lost, answered wrongly or twice, or executed twice, or when not every Agent can call
every Computer of its office again. Needs redis-server, or its path in REDIS_SERVER.
`
