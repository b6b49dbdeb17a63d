import { parseArgs } from "node:util"
import { wholeNumber } from "../commandLine.ts"
import type { Surface } from "./Surface.ts"

/** What is asked of the fuzzer. */
export interface Options {
  /** Of all surfaces together. */
  readonly inputs: number
  readonly seed: number
  /** The number of the first input, for a single surface. */
  readonly from: number
  readonly surfaces: ReadonlyArray<Surface>
  readonly help: boolean
}

const usual = { inputs: 100_000, seed: 1, from: 0 }
const mostInputs = 1_000_000_000
const mostSeed = 2 ** 32 - 1

/** Reads the command line. Throws an error whose message says what is wrong with it. */
export const readOptions = (args: ReadonlyArray<string>, all: ReadonlyArray<Surface>): Options => {
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
    inputs: wholeNumber("inputs", values.inputs, usual.inputs, [1, mostInputs]),
    seed: wholeNumber("seed", values.seed, usual.seed, [0, mostSeed]),
    from: wholeNumber("from", values.from, usual.from, [0, mostInputs]),
    surfaces: all.filter(({ name }) => values.surface.length === 0 || values.surface.includes(name)),
    help: values.help
  }
}

/** What `--help` says. */
export const helpText = (
  all: ReadonlyArray<Surface>
): string => `What becomes of inputs that nobody would send?

npm run fuzz -- [OPTIONS]

  --inputs N      how many, of all surfaces together (${usual.inputs})
  --seed S        another seed makes other inputs, the same one the same (${usual.seed})
  --surface NAME  only this one; may be given again (see below)
  --from N        number of the first input, to try one again
  --help          this text

Ends with 1 when something is wrong, and writes the input and those before it into a file in the current folder.

Surfaces:
${all.map(({ about, name }) => `  ${name.padEnd(11)}  ${about}`).join("\n")}
`
