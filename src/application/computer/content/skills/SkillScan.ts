import { Effect } from "effect"
import type { SkillRef } from "../../../../domain/model/messages/requests.ts"

/** A skill of a Computer. */
export interface FoundSkill {
  readonly ref: SkillRef
  /** The absolute folder of its files, with all links resolved. */
  readonly root: string
}

/** A skill, or a source of skills, that is left out. */
export interface SkillProblem {
  readonly source: string
  readonly skill: string
  readonly reason: string
}

/** The skills of one source. */
export interface SkillScan {
  readonly skills: ReadonlyArray<FoundSkill>
  readonly problems: ReadonlyArray<SkillProblem>
}

export const emptyScan: SkillScan = { skills: [], problems: [] }

/** Joins the scans of several sources, in the order of their priority. */
export const joinScans = (scans: ReadonlyArray<SkillScan>): SkillScan => ({
  skills: scans.flatMap(({ skills }) => skills),
  problems: scans.flatMap(({ problems }) => problems)
})

/** Gives each name to the first skill that has it. */
export const withUniqueNames = ({ problems, skills }: SkillScan): SkillScan => {
  const byName = new Map<string, FoundSkill>()
  const duplicates: Array<SkillProblem> = []
  for (const skill of skills) {
    const { name, source } = skill.ref
    const first = byName.get(name)
    if (first === undefined) byName.set(name, skill)
    else duplicates.push({ source, skill: name, reason: `${first.ref.source} has a skill with the same name` })
  }
  return { skills: [...byName.values()], problems: [...problems, ...duplicates] }
}

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
