import { parseArgs } from "node:util"
import { wholeNumber } from "../commandLine.ts"
import type { Surface } from "./Surface.ts"

/** The options of the fuzzer. */
export interface Options {
  /** The number of inputs for all surfaces together. */
  readonly inputs: number
  readonly seed: number
  /** The number of the first input, for a single surface. */
  readonly from: number
  readonly surfaces: ReadonlyArray<Surface>
  readonly help: boolean
}

const defaults = { inputs: 100_000, seed: 1, from: 0 }
const maxInputs = 1_000_000_000
const maxSeed = 2 ** 32 - 1

/** Parses the command line. Throws an error with a message for the user. */
export const parseOptions = (args: ReadonlyArray<string>, all: ReadonlyArray<Surface>): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      inputs: { type: "string" },
      seed: { type: "string" },
      from: { type: "string" },
      surface: { type: "string", multiple: true, default: [] },
      help: { type: "boolean", default: false }
    }
  })
  for (const name of values.surface) {
    if (!all.some((one) => one.name === name)) {
      throw new Error(`There is no surface "${name}"; there are ${all.map((one) => one.name).join(", ")}`)
    }
  }
  return {
    inputs: wholeNumber("inputs", values.inputs, defaults.inputs, [1, maxInputs]),
    seed: wholeNumber("seed", values.seed, defaults.seed, [0, maxSeed]),
    from: wholeNumber("from", values.from, defaults.from, [0, maxInputs]),
    surfaces: all.filter(({ name }) => values.surface.length === 0 || values.surface.includes(name)),
    help: values.help
  }
}

/** The output of `--help`. */
export const helpText = (
  all: ReadonlyArray<Surface>
): string => `Feeds malformed inputs to every interface that receives untrusted input.

npm run fuzz -- [OPTIONS]

  --inputs N      number of inputs for all surfaces together (${defaults.inputs})
  --seed S        seed of the inputs (${defaults.seed})
  --surface NAME  fuzz this surface alone; repeatable (see below)
  --from N        number of the first input; reproduces a single input
  --help          print this help

Exits with 1 after a fault and writes the input and its predecessors to a file in the current folder.

Surfaces:
${all.map(({ about, name }) => `  ${name.padEnd(11)}  ${about}`).join("\n")}
`
