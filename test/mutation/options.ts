import { availableParallelism } from "node:os"
import { parseArgs } from "node:util"
import { wholeNumber } from "../commandLine.ts"

/** The options of the mutation tests. */
export interface Options {
  /** Files, folders or patterns; all areas if empty. */
  readonly paths: ReadonlyArray<string>
  /** The lowest score in percent that passes. */
  readonly threshold: number
  readonly concurrency: number
  /** Ignores the results of earlier runs. */
  readonly fresh: boolean
  /** A file for the survivors and the table. */
  readonly output: string | undefined
  readonly help: boolean
}

const defaults = { threshold: 85, concurrency: availableParallelism() }

/** Parses the command line. Throws an error with a message for the user. */
export const parseOptions = (args: ReadonlyArray<string>): Options => {
  const { positionals, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      threshold: { type: "string" },
      concurrency: { type: "string" },
      fresh: { type: "boolean", default: false },
      output: { type: "string" },
      help: { type: "boolean", default: false }
    }
  })
  return {
    paths: positionals,
    threshold: wholeNumber("threshold", values.threshold, defaults.threshold, [0, 100]),
    concurrency: wholeNumber("concurrency", values.concurrency, defaults.concurrency, [1, 64]),
    fresh: values.fresh,
    output: values.output,
    help: values.help
  }
}

/** The output of `--help`. */
export const helpText = `Plants one small fault at a time in the sources and checks that a test fails.

npm run mutate -- [OPTIONS] [PATH...]

  PATH             file, folder or pattern of sources; all areas without one
  --threshold P    lowest score in percent that passes (${defaults.threshold})
  --concurrency N  number of processes (${defaults.concurrency} here)
  --fresh          test all mutants; without it, only those whose source or tests changed since the last run
  --output FILE    also write the survivors and the table to a file
  --help           print this help

Exits with 1 below the threshold.
`
