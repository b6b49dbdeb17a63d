import { parseArgs } from "node:util"
import { wholeNumber } from "../commandLine.ts"
import { type Fault, faults } from "./sabotage.ts"

/** The options of the simulation. */
export interface Options {
  readonly seeds: number
  readonly from: number
  readonly steps: number
  /** Runs this seed alone and prints its trace. */
  readonly seed: number | undefined
  readonly fault: { readonly name: string; readonly plant: Fault["plant"] } | undefined
  /** Plants every fault. */
  readonly faults: boolean
  readonly help: boolean
}

const defaults = { seeds: 1000, from: 0, steps: 100 }
const maxSeeds = 1_000_000_000
const maxSteps = 1_000_000

/** Parses the command line. Throws an error with a message for the user. */
export const parseOptions = (args: ReadonlyArray<string>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: "string" },
      from: { type: "string" },
      steps: { type: "string" },
      seed: { type: "string" },
      fault: { type: "string" },
      faults: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  const { fault: name, seed } = values
  const plant = name === undefined ? undefined : faults[name]?.plant
  if (name !== undefined && plant === undefined) {
    throw new Error(`There is no fault "${name}"; there are ${Object.keys(faults).join(", ")}`)
  }
  return {
    seeds: wholeNumber("seeds", values.seeds, defaults.seeds, [1, maxSeeds]),
    from: wholeNumber("from", values.from, defaults.from, [0, maxSeeds]),
    steps: wholeNumber("steps", values.steps, defaults.steps, [1, maxSteps]),
    seed: seed === undefined ? undefined : wholeNumber("seed", seed, 0, [0, maxSeeds]),
    fault: name === undefined || plant === undefined ? undefined : { name, plant },
    faults: values.faults,
    help: values.help
  }
}

/** The output of `--help`. */
export const helpText = `Simulates a cluster on virtual time with seeded faults and checks its invariants.

npm run simulate -- [OPTIONS]

  --seeds N      number of seeds (${defaults.seeds})
  --from SEED    first seed (${defaults.from})
  --steps M      steps per seed (${defaults.steps})
  --seed S       run this seed alone and print its trace
  --fault NAME   plant a fault and find it
  --faults       plant every fault and print the rule and seed that detect it
  --help         print this help

Exits with 1 when a rule is broken or a planted fault is not detected.

Faults:
${Object.keys(faults)
  .map((name) => `  ${name}`)
  .join("\n")}
`
