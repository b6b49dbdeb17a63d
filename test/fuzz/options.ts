import { makeCommandLine, number, texts } from "../commandLine.ts"
import type { Surface } from "./Surface.ts"

const defaults = { inputs: 100_000, seed: 1, from: 0 }
const maxInputs = 1_000_000_000
const maxSeed = 2 ** 32 - 1

const commandLine = makeCommandLine({
  inputs: number(
    "N",
    `number of inputs for all surfaces together (${defaults.inputs})`,
    [1, maxInputs],
    defaults.inputs
  ),
  seed: number("S", `seed of the inputs (${defaults.seed})`, [0, maxSeed], defaults.seed),
  surface: texts("NAME", "fuzz this surface alone; repeatable (see below)"),
  from: number("N", "number of the first input; reproduces a single input", [0, maxInputs], defaults.from)
})

/** Parses the command line. Throws an error with a message for the user. */
export const parseOptions = (args: ReadonlyArray<string>, all: ReadonlyArray<Surface>) => {
  const { surface: names, ...options } = commandLine.parse(args)
  for (const name of names) {
    if (!all.some((one) => one.name === name)) {
      throw new Error(`There is no surface "${name}"; there are ${all.map((one) => one.name).join(", ")}`)
    }
  }
  return { ...options, surfaces: all.filter(({ name }) => names.length === 0 || names.includes(name)) }
}

/** The options of the fuzzer. */
export type Options = ReturnType<typeof parseOptions>

/** The output of `--help`. */
export const helpText = (
  all: ReadonlyArray<Surface>
): string => `Feeds malformed inputs to every interface that receives untrusted input.

npm run fuzz -- [OPTIONS]

${commandLine.help}

Exits with 1 after a fault and writes the input and its predecessors to a file in the current folder.

Surfaces:
${all.map(({ about, name }) => `  ${name.padEnd(11)}  ${about}`).join("\n")}
`
