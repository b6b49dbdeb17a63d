import type { Plan, Step } from "./plan.ts"

/** Without a part of its steps; what comes after them happens when it would have. */
const without = (steps: ReadonlyArray<Step>, from: number, to: number): ReadonlyArray<Step> => {
  const gap = steps.slice(from, to).reduce((sum, { wait }) => sum + wait, 0)
  const [next, ...rest] = steps.slice(to)
  return [
    ...steps.slice(0, from),
    ...(next === undefined ? [] : [{ ...next, wait: next.wait + gap }, ...rest])
  ]
}

/**
 * A plan with as few steps as can be found that still fails: parts are left out, large ones first, as long as it does
 * (delta debugging). `fails` is asked at most `attempts` times.
 */
export const shrink = async (
  plan: Plan,
  fails: (plan: Plan) => Promise<boolean>,
  attempts = 400
): Promise<Plan> => {
  let smallest = plan
  let left = attempts
  for (let size = Math.ceil(plan.steps.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < smallest.steps.length && left > 0; left -= 1) {
      const tried = { ...smallest, steps: without(smallest.steps, from, from + size) }
      // What was after the part that could go is there now.
      if (await fails(tried)) smallest = tried
      else from += size
    }
  }
  return smallest
}
