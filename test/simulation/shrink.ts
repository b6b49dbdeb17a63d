import type { Plan, Step } from "./plan.ts"

/** Removes some steps and keeps the times of the later ones. */
const without = (steps: ReadonlyArray<Step>, from: number, to: number): ReadonlyArray<Step> => {
  const gap = steps.slice(from, to).reduce((sum, { wait }) => sum + wait, 0)
  const [next, ...rest] = steps.slice(to)
  return [...steps.slice(0, from), ...(next === undefined ? [] : [{ ...next, wait: next.wait + gap }, ...rest])]
}

/**
 * Shrinks a failing plan by delta debugging: removes steps, large parts first, while the plan still fails. Calls `fails`
 * at most `attempts` times.
 */
export const shrink = async (plan: Plan, fails: (plan: Plan) => Promise<boolean>, attempts = 400): Promise<Plan> => {
  let smallest = plan
  let left = attempts
  for (let size = Math.ceil(plan.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < smallest.steps.length && left > 0; left -= 1) {
      const tried = { ...smallest, steps: without(smallest.steps, from, from + size) }
      // The next part has moved to `from`.
      if (await fails(tried)) smallest = tried
      else from += size
    }
  }
  return smallest
}
