import { Effect } from "effect"
import type { SkillProblem } from "./SkillScan.ts"

/** Problems that are remembered. Further ones are not logged: each scan would log them again. */
const maxRemembered = 1000

/** Makes a function that logs the current problems of skills, each once until it is gone. */
export const makeSkillReports = () => {
  let remembered: ReadonlySet<string> = new Set()
  return Effect.fnUntraced(function* (problems: ReadonlyArray<SkillProblem>) {
    const byKey = new Map(problems.slice(0, maxRemembered).map((problem) => [JSON.stringify(problem), problem]))
    const previous = remembered
    remembered = new Set(byKey.keys())
    for (const [key, problem] of byKey) if (!previous.has(key)) yield* Effect.logWarning("skill left out", problem)
  })
}
