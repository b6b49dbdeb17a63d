/** Feeds malformed inputs to every interface that receives untrusted input: see `--help`. */
import { writeFileSync } from "node:fs"
import { Effect } from "effect"
import { optionsOrExit } from "../commandLine.ts"
import { fuzz, type Outcome, shares } from "./fuzz.ts"
import { helpText, type Options, parseOptions } from "./options.ts"
import { faultText, summary, table } from "./report.ts"
import { surfaces } from "./surfaces/all.ts"

const print = (text: string) => void process.stderr.write(text)

/** Prints the progress of a surface to a terminal; a file gets one line at the end. */
const follow = (surface: string, of: number) => {
  const line = (done: number) => `${surface}: ${done} of ${of}`
  const isWatched = process.stderr.isTTY
  return {
    progress: (done: number) => void (isWatched && print(`\r${line(done)} `)),
    done: ({ inputs, seconds }: Outcome) =>
      print(`${isWatched ? "\r" : ""}${line(inputs)} in ${seconds.toFixed(0)} s\n`)
  }
}

const run = async ({ from, inputs, seed, surfaces: wanted }: Options): Promise<number> => {
  const outcomes: Array<Outcome> = []
  const parts = shares(wanted, inputs)
  const all = parts.reduce((sum, part) => sum + part, 0)
  print(`${all} inputs of ${wanted.length} surfaces, made of seed ${seed}\n`)
  for (const [index, surface] of wanted.entries()) {
    const part = parts[index] ?? 0
    const { done, progress } = follow(surface.name, part)
    progress(0)
    const outcome = await Effect.runPromise(fuzz(surface, { seed, inputs: part, from, progress }))
    outcomes.push(outcome)
    done(outcome)
    if (outcome.fault === undefined) continue
    const file = `fuzz-${surface.name}-${seed}.json`
    writeFileSync(file, faultText(surface.name, seed, outcome.fault))
    print(`${surface.name}: ${outcome.fault.what}\nwritten to ${file}\n`)
  }
  process.stdout.write(`${table(outcomes)}\n\n${summary(outcomes)}\n`)
  return outcomes.some(({ fault }) => fault !== undefined) ? 1 : 0
}

process.exit(await run(optionsOrExit((args) => parseOptions(args, surfaces), helpText(surfaces))))
