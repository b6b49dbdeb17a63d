import { Effect, Result } from "effect"
import { parseJson } from "../../../../domain/json.ts"
import { skillMainFile } from "../../../../domain/model/messages/requests.ts"
import {
  maxFrontMatterBytes,
  parseSkillManifest,
  type SkillManifest,
  splitFrontMatter
} from "../../../../domain/skills/frontMatter.ts"
import { skillLimits } from "../../../../domain/skills/skillLimits.ts"
import { decodeUtf8Lossy } from "../../../../domain/utf8.ts"
import type { SkillFileError, SkillFiles } from "../../../ports/files/SkillFiles.ts"

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
