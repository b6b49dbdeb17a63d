import { Effect } from "effect"
import type { Counts } from "./History.ts"
import { type Plan, planOf } from "./plan.ts"
import { shrink } from "./shrink.ts"
import { type Outcome, simulate } from "./simulate.ts"
import type { Fault } from "./sabotage.ts"
import type { Sabotage } from "./World.ts"

/** How a number of runs is to be told, a line for each kind of thing. */
export const spellCounts = (counts: Counts): string =>
  Object.entries(counts)
    .map(([what, count]) => `${what.padEnd(12)}${String(count).padStart(12)}`)
    .join("\n")

/** Runs a plan from outside of Effect. */
const runPlan = (plan: Plan, sabotage: () => Sabotage = () => ({})): Promise<Outcome> =>
  Effect.runPromise(simulate(plan, sabotage()))

/** Runs that many steps of a seed. */
export const runSeed = (seed: number, steps: number, sabotage?: () => Sabotage): Promise<Outcome> =>
  runPlan(planOf(seed, steps), sabotage)

const rulesOf = ({ broken }: Outcome): ReadonlyArray<string> => broken.map(({ rule }) => rule)

/** So many seeds find every fault that is planted. */
export const enoughSeeds = 40

/** The first run in which the rule that has to notice a planted fault does. */
export const noticed = async (steps: number, { by, plant }: Fault): Promise<Outcome | undefined> => {
  for (let seed = 0; seed < enoughSeeds; seed++) {
    const outcome = await runSeed(seed, steps, plant)
    if (rulesOf(outcome).includes(by)) return outcome
  }
  return undefined
}

/** The smallest run that breaks one of the same rules as a seed does. */
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

/** What was found in a run that failed, and how it came to it. */
export const spellFailure = ({ broken, seed, trace }: Outcome): string =>
  [
    `seed ${seed} breaks ${broken.map(({ rule }) => rule).join(", ")}`,
    ...broken.flatMap(({ findings, rule }) => findings.map((finding) => `  ${rule}: ${finding}`)),
    "what happened:",
    ...trace
  ].join("\n")
