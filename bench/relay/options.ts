import { parseArgs } from "node:util"
import type { Case } from "./cases/Case.ts"
import { type OtherServer, otherServers } from "./otherServers.ts"
import type { Client } from "./Site.ts"

/** Options of the benchmark. */
export interface Options {
  /** Names of the cases to run, in their usual order. */
  readonly cases: ReadonlyArray<string>
  readonly rounds: number
  readonly quick: boolean
  readonly client: Client
  /** Lets servers run a third of the time in closed loops. */
  readonly slowServers: boolean
  readonly json: boolean
  /** Measures the reference against itself. */
  readonly self: boolean
  /** Folder of another checkout, whose Server is measured instead of the other relays. */
  readonly against: string | undefined
  /** Further servers for comparison. */
  readonly with: ReadonlyArray<OtherServer>
  /** Name of a case to profile instead. */
  readonly profile: string | undefined
  /** Writes the tables and plots of the documentation. */
  readonly publish: boolean
  /** Folder of the profile. */
  readonly profileDir: string
  readonly help: boolean
}

/** Rounds without and with `--quick`. On a shared machine, a median needs about twenty rounds. */
const defaultRounds = { full: 20, quick: 3 }
const maxRounds = 1000

const otherServersOf = (names: ReadonlyArray<string>): ReadonlyArray<OtherServer> => {
  const known = ["all", ...otherServers.map(({ name }) => name)]
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Error(`Unknown server "${unknown}"; expected one of ${known.join(", ")}`)
  return otherServers.filter(({ name }) => names.includes("all") || names.includes(name))
}

/** Parses the command line. Throws an error with a message for people. */
export const readOptions = (args: ReadonlyArray<string>, cases: ReadonlyArray<Case>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      case: { type: "string", multiple: true, default: [] },
      rounds: { type: "string" },
      quick: { type: "boolean", default: false },
      client: { type: "string", default: "light" },
      "slow-servers": { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      self: { type: "boolean", default: false },
      against: { type: "string" },
      with: { type: "string", multiple: true, default: [] },
      profile: { type: "string" },
      publish: { type: "boolean", default: false },
      "profile-dir": { type: "string", default: "." },
      help: { type: "boolean", default: false }
    }
  })
  const { against, client, help, json, profile, publish, quick, self } = values
  const named = [...values.case, ...(profile === undefined ? [] : [profile])]
  for (const name of named) {
    if (!cases.some((one) => one.name === name)) {
      throw new Error(`Unknown case "${name}"; expected one of ${cases.map((one) => one.name).join(", ")}`)
    }
  }
  const rounds = Number(values.rounds ?? (quick ? defaultRounds.quick : defaultRounds.full))
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > maxRounds) {
    throw new Error(`--rounds must be a whole number from 1 to ${maxRounds}`)
  }
  if (client !== "light" && client !== "official") throw new Error(`--client must be light or official`)
  if (publish && (quick || self || against !== undefined || values.case.length > 0)) {
    throw new Error("--publish needs all cases: leave out --case, --quick, --self and --against")
  }
  const wanted = cases.filter(({ long, name }) =>
    values.case.length > 0 ? values.case.includes(name) : !(quick && long === true)
  )
  return {
    cases: wanted.map(({ name }) => name),
    rounds,
    quick,
    client,
    slowServers: values["slow-servers"],
    json,
    self,
    against,
    with: otherServersOf(values.with),
    profile,
    publish,
    profileDir: values["profile-dir"],
    help
  }
}

/** The text of `--help`. */
export const helpText = (cases: ReadonlyArray<Case>): string => `Compares the Server with plain Socket.IO.

npm run bench -- [OPTIONS]

  --case NAME         only this case; repeatable (see below)
  --rounds N          rounds of each case (${defaultRounds.full}, with --quick ${defaultRounds.quick})
  --quick             few and short rounds: a smoke test, not a measurement
  --client CLIENT     light (default): handwritten peers; official: peers of socket.io-client
  --slow-servers      let servers run a third of the time in closed loops, so that slow clients saturate them
  --json              results as JSON
  --against FOLDER    compare with the Server of another checkout instead of the other relays
  --with NAME         compare with one more server, or with all of them; repeatable (see below)
  --publish           write the tables and plots of bench/README.md from this run, with those of node bench/growth.ts
  --profile NAME      write a CPU profile of the Server in this case instead of measuring
  --profile-dir DIR   folder of the .cpuprofile file (default: the current one)
  --help              this text

Cases:
${cases.map(({ about, name }) => `  ${name.padEnd(18)}  ${about}`).join("\n")}

Servers of --with:
${otherServers.map(({ about, name }) => `  ${name.padEnd(18)}  ${about}`).join("\n")}
`
