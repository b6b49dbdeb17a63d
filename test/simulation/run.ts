/** Runs an office world on virtual time for as many seeds as are wanted: see `--help`. */
import { type Counts, noCounts } from "./History.ts"
import { helpText, type Options, readOptions } from "./options.ts"
import { enoughSeeds, noticed, runSeed, shrunk, spellCounts, spellFailure } from "./report.ts"
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
  let told = began
  for (let seed = first; seed < first + count; seed++) {
    const outcome = await runSeed(seed, steps, fault?.plant)
    all.push(outcome.counts)
    if (outcome.broken.length > 0) {
      process.stderr.write(`seed ${seed} fails, looking for the shortest way to it\n`)
      const { outcome: smallest, plan } = await shrunk(seed, steps, outcome, fault?.plant)
      process.stdout.write(`${spellFailure(smallest)}\n`)
      const again = fault === undefined ? "" : ` --fault ${JSON.stringify(fault.name)}`
      process.stdout.write(
        `${plan.steps.length} steps are left; all of them: npm run simulate -- --seed ${seed} --steps ${steps}${again}\n`
      )
      return false
    }
    if (performance.now() - told > 5000) {
      told = performance.now()
      process.stderr.write(`${seed - first + 1} of ${count} seeds\n`)
    }
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  process.stdout.write(`${count} seeds from ${first} on, ${seconds} s: every rule holds\n`)
  process.stdout.write(`${spellCounts(sum([noCounts(), ...all]))}\n`)
  return true
}

/** Plants every fault. */
const plantAll = async ({ steps }: Options): Promise<boolean> => {
  const width = Math.max(...Object.keys(faults).map(({ length }) => length))
  let missed = 0
  for (const [name, planted] of Object.entries(faults)) {
    const outcome = await noticed(steps, planted)
    if (outcome === undefined) missed += 1
    const found =
      outcome === undefined ? `NOT FOUND in ${enoughSeeds} seeds` : `${planted.by} in seed ${outcome.seed}`
    process.stdout.write(`${name.padEnd(width)}  ${found}\n`)
  }
  return missed === 0
}

const main = async (): Promise<number> => {
  let options: Options
  try {
    options = readOptions(process.argv.slice(2))
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return 2
  }
  if (options.help) {
    process.stdout.write(helpText)
    return 0
  }
  const run = options.faults
    ? plantAll
    : options.seed === undefined
      ? many
      : one.bind(undefined, options.seed)
  return (await run(options)) ? 0 : 1
}

// Whoever reads the beginning only has seen enough.
process.stdout.on("error", () => process.exit(0))
process.exitCode = await main()
