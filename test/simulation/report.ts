import { Effect } from "effect"
import type { Counts } from "./History.ts"
import { type Plan, planOf } from "./plan.ts"
import { shrink } from "./shrink.ts"
import { type Outcome, simulate } from "./simulate.ts"
import type { Fault } from "./sabotage.ts"
import type { Sabotage } from "./World.ts"

/** Formats the event counts, one per line. */
export const formatCounts = (counts: Counts): string =>
  Object.entries(counts)
    .map(([what, count]) => `${what.padEnd(12)}${String(count).padStart(12)}`)
    .join("\n")

/** Runs a plan. */
const runPlan = (plan: Plan, sabotage: () => Sabotage = () => ({})): Promise<Outcome> =>
  Effect.runPromise(simulate(plan, sabotage()))

/** Runs a number of steps of a seed. */
export const runSeed = (seed: number, steps: number, sabotage?: () => Sabotage): Promise<Outcome> =>
  runPlan(planOf(seed, steps), sabotage)

const rulesOf = ({ broken }: Outcome): ReadonlyArray<string> => broken.map(({ rule }) => rule)

/** This number of seeds suffices to detect every planted fault. */
export const detectionSeeds = 40

/** A run in which the expected rule detects a planted fault. */
export const findDetection = async (steps: number, { by, from = 0, plant }: Fault): Promise<Outcome | undefined> => {
  for (let tried = 0; tried < detectionSeeds; tried++) {
    const outcome = await runSeed(from + tried, steps, plant)
    if (rulesOf(outcome).includes(by)) return outcome
  }
  return undefined
}

/** The smallest run that breaks one of the rules that a seed breaks. */
export const shrunk = async (
  seed: number,
  steps: number,
  failed: Outcome,
  sabotage?: () => Sabotage
): Promise<{ readonly plan: Plan; readonly outcome: Outcome }> => {
  const rules = new Set(rulesOf(failed))
  const plan = await shrink(planOf(seed, steps), async (tried) =>
    rulesOf(await runPlan(tried, sabotage)).some((rule) => rules.has(rule))
  )
  return { plan, outcome: await runPlan(plan, sabotage) }
}

/** Formats the violations and the trace of a failed run. */
export const formatFailure = ({ broken, seed, trace }: Outcome): string =>
  [
    `seed ${seed} breaks ${broken.map(({ rule }) => rule).join(", ")}`,
    ...broken.flatMap(({ findings, rule }) => findings.map((finding) => `  ${rule}: ${finding}`)),
    "trace:",
    ...trace
  ].join("\n")
