import { flag, makeCommandLine, number, text } from "../commandLine.ts"
import { faults } from "./sabotage.ts"

const defaults = { seeds: 1000, from: 0, steps: 100 }
const maxSeeds = 1_000_000_000
const maxSteps = 1_000_000

const commandLine = makeCommandLine({
  seeds: number("N", `number of seeds (${defaults.seeds})`, [1, maxSeeds], defaults.seeds),
  from: number("SEED", `first seed (${defaults.from})`, [0, maxSeeds], defaults.from),
  steps: number("M", `steps per seed (${defaults.steps})`, [1, maxSteps], defaults.steps),
  seed: number("S", "run this seed alone and print its trace", [0, maxSeeds], undefined),
  fault: text("NAME", "plant a fault and find it"),
  faults: flag("plant every fault and print the rule and seed that detect it")
})

/** Parses the command line. Throws an error with a message for the user. */
export const parseOptions = (args: ReadonlyArray<string>) => {
  const { fault: name, ...options } = commandLine.parse(args)
  const plant = name === undefined ? undefined : faults[name]?.plant
  if (name !== undefined && plant === undefined) {
    throw new Error(`There is no fault "${name}"; there are ${Object.keys(faults).join(", ")}`)
  }
  return { ...options, fault: name === undefined || plant === undefined ? undefined : { name, plant } }
}

/** The options of the simulation. */
export type Options = ReturnType<typeof parseOptions>

/** The output of `--help`. */
export const helpText = `Simulates a cluster on virtual time with seeded faults and checks its invariants.

npm run simulate -- [OPTIONS]

${commandLine.help}

Exits with 1 when a rule is broken or a planted fault is not detected.

Faults:
${Object.keys(faults)
  .map((name) => `  ${name}`)
  .join("\n")}
`
