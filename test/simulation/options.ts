import { parseArgs } from "node:util"
import { wholeNumber } from "../commandLine.ts"
import { type Fault, faults } from "./sabotage.ts"

/** What is asked of the simulation. */
export interface Options {
  readonly seeds: number
  readonly from: number
  readonly steps: number
  /** Only this one, and all that happens. */
  readonly seed: number | undefined
  readonly fault: { readonly name: string; readonly plant: Fault["plant"] } | undefined
  /** Plant every fault. */
  readonly faults: boolean
  readonly help: boolean
}

const usual = { seeds: 1000, from: 0, steps: 100 }
const mostSeeds = 1_000_000_000
const mostSteps = 1_000_000

/** Reads the command line. Throws an error whose message says what is wrong with it. */
export const readOptions = (args: ReadonlyArray<string>): Options => {
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
    seeds: wholeNumber("seeds", values.seeds, usual.seeds, [1, mostSeeds]),
    from: wholeNumber("from", values.from, usual.from, [0, mostSeeds]),
    steps: wholeNumber("steps", values.steps, usual.steps, [1, mostSteps]),
    seed: seed === undefined ? undefined : wholeNumber("seed", seed, 0, [0, mostSeeds]),
    fault: name === undefined || plant === undefined ? undefined : { name, plant },
    faults: values.faults,
    help: values.help
  }
}

/** What `--help` says. */
export const helpText = `Runs an office world on virtual time, with accidents that a seed decides, and checks its rules.

npm run simulate -- [OPTIONS]

  --seeds N      how many seeds (${usual.seeds})
  --from SEED    the first of them (${usual.from})
  --steps M      steps of each (${usual.steps})
  --seed S       only this one, with everything that happens on stdout
  --fault NAME   plant a fault, to see it found
  --faults       plant each of them, and say which rule notices it in which seed
  --help         this text

Ends with 1 when a rule is broken, or a planted fault is not found.

Faults:
${Object.keys(faults)
  .map((name) => `  ${name}`)
  .join("\n")}
`
