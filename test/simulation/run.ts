/**
 * Runs the simulation for as many seeds as are wanted.
 *
 * npm run simulate -- [--seeds N] [--from SEED] [--steps M] [--fault NAME]   many seeds, and a report
 * npm run simulate -- --seed S [--steps M] [--fault NAME]                    one seed, with everything that happens
 * npm run simulate -- --faults [--steps M]                                   is every fault noticed that is planted?
 */
import { parseArgs } from "node:util"
import { type Counts, noCounts } from "./History.ts"
import { enoughSeeds, noticed, runSeed, shrunk, spellCounts, spellFailure } from "./report.ts"
import { faults } from "./sabotage.ts"
import { sum } from "./simulate.ts"

const help = `Runs an office world on virtual time, with accidents that a seed decides, and checks its rules.

npm run simulate -- [OPTIONS]

  --seeds N      how many seeds (1000)
  --from SEED    the first of them (0)
  --steps M      steps of each (100)
  --seed S       only this one, with everything that happens on stdout
  --fault NAME   plant a fault, to see it found: ${Object.keys(faults)
    .map((name) => `"${name}"`)
    .join(", ")}
  --faults       plant each of them, and say which rule notices it in which seed
  --help         this text
`

/** For a column of their names. */
const nameWidth = Math.max(...Object.keys(faults).map(({ length }) => length))

const whole = (name: string, given: string | undefined, usual: number): number => {
  const number = given === undefined ? usual : Number(given)
  if (Number.isSafeInteger(number) && number >= 0) return number
  process.stderr.write(`--${name} must be a whole number, not ${JSON.stringify(given)}\n`)
  process.exit(2)
}

const options = () => {
  try {
    return parseArgs({
      options: {
        seeds: { type: "string" },
        from: { type: "string" },
        steps: { type: "string" },
        seed: { type: "string" },
        fault: { type: "string" },
        faults: { type: "boolean" },
        help: { type: "boolean" }
      }
    }).values
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
    process.exit(2)
  }
}

// Whoever reads the beginning only has seen enough.
process.stdout.on("error", () => process.exit(0))

const given = options()
if (given.help === true) {
  process.stdout.write(help)
  process.exit(0)
}
const steps = whole("steps", given.steps, 100)
const sabotage = given.fault === undefined ? undefined : faults[given.fault]?.plant
if (given.fault !== undefined && sabotage === undefined) {
  process.stderr.write(`there is no fault ${JSON.stringify(given.fault)}\n\n${help}`)
  process.exit(2)
}

const one = async (seed: number): Promise<boolean> => {
  const outcome = await runSeed(seed, steps, sabotage)
  process.stdout.write(`${outcome.trace.join("\n")}\n`)
  for (const { findings, rule } of outcome.broken) {
    for (const finding of findings) process.stdout.write(`${rule}: ${finding}\n`)
  }
  return outcome.broken.length === 0
}

const many = async (first: number, count: number): Promise<boolean> => {
  const began = performance.now()
  const all: Array<Counts> = []
  let told = began
  for (let seed = first; seed < first + count; seed++) {
    const outcome = await runSeed(seed, steps, sabotage)
    all.push(outcome.counts)
    if (outcome.broken.length > 0) {
      process.stderr.write(`seed ${seed} fails, looking for the shortest way to it\n`)
      const { outcome: smallest, plan } = await shrunk(seed, steps, outcome, sabotage)
      process.stdout.write(`${spellFailure(smallest)}\n`)
      const planted = given.fault === undefined ? "" : ` --fault ${JSON.stringify(given.fault)}`
      process.stdout.write(
        `${plan.steps.length} steps are left; all of them: npm run simulate -- --seed ${seed} --steps ${steps}${planted}\n`
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
const plantAll = async (): Promise<boolean> => {
  let missed = 0
  for (const [name, planted] of Object.entries(faults)) {
    const outcome = await noticed(steps, planted)
    if (outcome === undefined) missed += 1
    const found =
      outcome === undefined ? `NOT FOUND in ${enoughSeeds} seeds` : `${planted.by} in seed ${outcome.seed}`
    process.stdout.write(`${name.padEnd(nameWidth)}  ${found}\n`)
  }
  return missed === 0
}

const answer = (): Promise<boolean> => {
  if (given.faults === true) return plantAll()
  if (given.seed !== undefined) return one(whole("seed", given.seed, 0))
  return many(whole("from", given.from, 0), whole("seeds", given.seeds, 1000))
}

process.exitCode = (await answer()) ? 0 : 1
