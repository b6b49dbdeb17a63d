import { availableParallelism } from "node:os"
import { flag, makeCommandLine, number, text } from "../commandLine.ts"

const defaults = { threshold: 85, concurrency: availableParallelism() }

const commandLine = makeCommandLine({
  threshold: number("P", `lowest score in percent that passes (${defaults.threshold})`, [0, 100], defaults.threshold),
  concurrency: number("N", `number of processes (${defaults.concurrency} here)`, [1, 64], defaults.concurrency),
  fresh: flag("test all mutants; without it, only those whose source or tests changed since the last run"),
  output: text("FILE", "also write the survivors and the table to a file")
})

/** Parses the command line: `positionals` are files, folders or patterns. Throws an error with a message for the user. */
export const parseOptions = (args: ReadonlyArray<string>) => commandLine.parse(args, true)

/** The options of the mutation tests. */
export type Options = ReturnType<typeof parseOptions>

/** The output of `--help`. */
export const helpText = `Plants one small fault at a time in the sources and checks that a test fails.

npm run mutate -- [OPTIONS] [PATH...]

Each PATH is a file, a folder or a pattern of sources; all areas without one.

${commandLine.help}

Exits with 1 below the threshold.
`
