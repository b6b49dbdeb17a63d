import { Effect, Result } from "effect"
import { type SkillRef, skillMainFile } from "../../../../domain/model/messages/requests.ts"
import { parseJson } from "../../../../domain/json.ts"
import {
  maxFrontMatterBytes,
  parseSkillManifest,
  type SkillManifest,
  splitFrontMatter
} from "../../../../domain/skills/frontMatter.ts"
import { skillLimits } from "../../../../domain/skills/skillLimits.ts"
import { decodeUtf8Lossy } from "../../../../domain/utf8.ts"
import type { SkillFileError, SkillFiles } from "../../../ports/files/SkillFiles.ts"

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

export const problemScan = (source: string, skill: string, reason: string): SkillScan => ({
  skills: [],
  problems: [{ source, skill, reason }]
})

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

type Files = SkillFiles["Service"]

/** Reads the front matter of a skill. The inner result fails with the reason why it is unusable. */
export const readSkillManifest = (
  files: Files,
  root: string
): Effect.Effect<Result.Result<SkillManifest, string>, SkillFileError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const file = yield* files.open(root, skillMainFile)
      const { yaml } = splitFrontMatter(yield* file.read(0, maxFrontMatterBytes + 1))
      if (yaml === undefined) return Result.fail(`${skillMainFile} has no front matter`)
      return Result.flatMap(
        Result.mapError(files.parseYaml(yaml), (reason) => `invalid front matter: ${reason}`),
        parseSkillManifest
      )
    })
  )

/** Reads a file of JSON below a root; `undefined` for a missing one. The inner result fails with the reason. */
export const readJsonFile = (
  files: Files,
  root: string,
  path: string
): Effect.Effect<Result.Result<unknown, string> | undefined, SkillFileError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const file = yield* files.open(root, path)
      if (file.size > skillLimits.maxManifestBytes) return Result.fail(`${path} is too large`)
      const value = parseJson(decodeUtf8Lossy(yield* file.read(0, file.size)))
      return value === undefined ? Result.fail(`${path} is not JSON`) : Result.succeed(value)
    })
  ).pipe(
    Effect.catchIf(
      (error) => error.reason === "not_found",
      () => Effect.undefined
    )
  )
