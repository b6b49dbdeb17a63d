/** Runs the simulation: see `--help`. */
import { optionsOrExit } from "../commandLine.ts"
import { type Counts, noCounts } from "./History.ts"
import { helpText, type Options, parseOptions } from "./options.ts"
import { detectionSeeds, findDetection, runSeed, shrunk, formatCounts, formatFailure } from "./report.ts"
import { faults } from "./sabotage.ts"
import { sum } from "./simulate.ts"

const one = async (seed: number, { fault, steps }: Options): Promise<boolean> => {
  const outcome = await runSeed(seed, steps, fault?.plant)
  process.stdout.write(`${outcome.trace.join("\n")}\n`)
  for (const { findings, rule } of outcome.broken) {
    for (const finding of findings) process.stdout.write(`${rule}: ${finding}\n`)
  }
  return outcome.broken.length === 0
}

const many = async ({ fault, from: first, seeds: count, steps }: Options): Promise<boolean> => {
  const began = performance.now()
  const all: Array<Counts> = []
  let reportedAt = began
  for (let seed = first; seed < first + count; seed++) {
    const outcome = await runSeed(seed, steps, fault?.plant)
    all.push(outcome.counts)
    if (outcome.broken.length > 0) {
      process.stderr.write(`seed ${seed} fails, shrinking its plan\n`)
      const { outcome: smallest, plan } = await shrunk(seed, steps, outcome, fault?.plant)
      process.stdout.write(`${formatFailure(smallest)}\n`)
      const again = fault === undefined ? "" : ` --fault ${JSON.stringify(fault.name)}`
      process.stdout.write(
        `${plan.steps.length} steps remain; run all of them: npm run simulate -- --seed ${seed} --steps ${steps}${again}\n`
      )
      return false
    }
    if (performance.now() - reportedAt > 5000) {
      reportedAt = performance.now()
      process.stderr.write(`${seed - first + 1} of ${count} seeds\n`)
    }
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  process.stdout.write(`${count} seeds from ${first}, ${seconds} s: every rule holds\n`)
  process.stdout.write(`${formatCounts(sum([noCounts(), ...all]))}\n`)
  return true
}

/** Plants every fault. */
const plantAll = async ({ steps }: Options): Promise<boolean> => {
  const width = Math.max(...Object.keys(faults).map(({ length }) => length))
  let missed = 0
  for (const [name, planted] of Object.entries(faults)) {
    const outcome = await findDetection(steps, planted)
    if (outcome === undefined) missed += 1
    const found =
      outcome === undefined ? `NOT FOUND in ${detectionSeeds} seeds` : `${planted.by} in seed ${outcome.seed}`
    process.stdout.write(`${name.padEnd(width)}  ${found}\n`)
  }
  return missed === 0
}

const main = (options: Options): Promise<boolean> => {
  if (options.faults) return plantAll(options)
  return options.seed === undefined ? many(options) : one(options.seed, options)
}

// The reader closed the pipe, as `head` does.
process.stdout.on("error", () => process.exit(0))
process.exitCode = (await main(optionsOrExit(parseOptions, helpText))) ? 0 : 1
