import { Effect, Result } from "effect"
import { Base64 } from "effect/encoding"
import type { JsonObject } from "../../../../domain/json.ts"
import type { SkillManifest } from "../../../../domain/skills/frontMatter.ts"
import { sameFolder } from "../../../../domain/skills/marketplace.ts"
import { skillLimits } from "../../../../domain/skills/skillLimits.ts"
import {
  findSkillFiles,
  hasSkillScheme,
  parseSkillResource,
  type SkillOrigin,
  type SkillResource
} from "../../../../domain/skills/skillResources.ts"
import { encodeUtf8 } from "../../../../domain/utf8.ts"
import type { SkillFiles, StagedFile } from "../../../ports/files/SkillFiles.ts"
import { ComputerSettings } from "../../ComputerSettings.ts"
import { type OfferedServer, uriOf } from "../../servers/ServersSnapshot.ts"
import { readSkillManifest, type SkillProblem } from "./SkillScan.ts"
import { digestBytes } from "./readSkillFile.ts"

/** A skill of an MCP server whose files are on this host. */
export interface StagedSkill {
  readonly resource: SkillResource
  readonly root: string
  readonly manifest: SkillManifest
}

/** The skills of one MCP server, and those that are not staged, or not in their current version. */
export interface StagedServer {
  readonly skills: ReadonlyArray<StagedSkill>
  readonly problems: ReadonlyArray<Omit<SkillProblem, "source">>
}

/** The skills of one server that are staged at the same time. */
const stagingConcurrency = 4

/** The files of one skill that are read at the same time. */
const readConcurrency = 8

/** The listed resources that are skills, or files of skills. */
export const skillResourcesOf = ({ resources }: Pick<OfferedServer, "resources">): ReadonlyArray<JsonObject> =>
  resources.filter((resource) => hasSkillScheme(uriOf(resource)))

const bytesOf = (contents: ReadonlyArray<JsonObject>): Result.Result<Uint8Array, string> => {
  for (const { blob, text } of contents) {
    if (typeof text === "string") return Result.succeed(encodeUtf8(text))
    if (typeof blob === "string") return Result.mapError(Base64.decode(blob), () => "its blob is not base64")
  }
  return Result.fail("it has neither text nor blob")
}

const readBytes = ({ session }: OfferedServer, uri: string) =>
  session.readResource(uri).pipe(
    Effect.mapError(({ message }) => message),
    Effect.flatMap((contents) => Effect.fromResult(bytesOf(contents))),
    Effect.mapError((reason) => `cannot read ${uri}: ${reason}`)
  )

/** The skills among the resources of a server. Of equal names only the first is used. */
const parseSkills = (resources: ReadonlyArray<JsonObject>) => {
  const skills = new Map<string, SkillResource>()
  const problems: Array<Omit<SkillProblem, "source">> = []
  for (const resource of resources) {
    const parsed = parseSkillResource(resource)
    if (parsed === undefined) continue
    const problem = (reason: string) => problems.push({ skill: uriOf(resource), reason })
    if (Result.isFailure(parsed)) problem(parsed.failure)
    else if (skills.has(parsed.success.skill)) problem("another resource has the same name")
    else if (skills.size >= skillLimits.maxEntries) problem(`more than ${skillLimits.maxEntries} skills`)
    else skills.set(parsed.success.skill, parsed.success)
  }
  return { skills: [...skills.values()], problems }
}

/** Makes a function that stages the skills of an MCP server. Given its `previous` ones, it keeps those that it can. */
export const makeSkillStaging = Effect.fnUntraced(function* (files: SkillFiles["Service"]) {
  const { connectTimeout } = yield* ComputerSettings

  const stageArchive = Effect.fnUntraced(function* (
    server: OfferedServer,
    skill: string,
    { format, sha256, uri }: Extract<SkillOrigin, { readonly _tag: "Archive" }>
  ) {
    const bytes = yield* readBytes(server, uri)
    if (sha256 !== undefined && sha256 !== digestBytes(bytes)) return yield* Effect.fail("the archive has another hash")
    return yield* files.stage(server.config.name, skill, { _tag: "Archive", format, bytes })
  })

  const stageResources = Effect.fnUntraced(function* (server: OfferedServer, resource: SkillResource) {
    const listed = yield* Effect.fromResult(findSkillFiles(resource, server.resources))
    if (listed.length > skillLimits.maxFiles) return yield* Effect.fail(`more than ${skillLimits.maxFiles} files`)
    let left: number = skillLimits.maxStagedBytes
    const content = yield* Effect.forEach(
      listed,
      Effect.fnUntraced(function* ({ relPath, uri }) {
        const bytes = yield* readBytes(server, uri)
        left -= bytes.length
        if (left < 0) return yield* Effect.fail(`more than ${skillLimits.maxStagedBytes} bytes`)
        return { path: relPath, bytes } satisfies StagedFile
      }),
      { concurrency: readConcurrency }
    )
    return yield* files.stage(server.config.name, resource.skill, { _tag: "Files", files: content })
  })

  const stageFiles = (server: OfferedServer, resource: SkillResource) => {
    const { origin, skill } = resource
    if (origin._tag === "Archive") return stageArchive(server, skill, origin)
    if (origin._tag === "Resources") return stageResources(server, resource)
    // A server on another machine must not choose which folders of this one Agents can read.
    return server.config.type === "stdio"
      ? files.resolveFolder(origin.folder, sameFolder)
      : Effect.fail("only a local MCP server can name a folder")
  }

  const stageSkill = Effect.fnUntraced(
    function* (server: OfferedServer, resource: SkillResource) {
      const root = yield* stageFiles(server, resource)
      const manifest = yield* Effect.flatMap(readSkillManifest(files, root), Effect.fromResult)
      return { resource, root, manifest } satisfies StagedSkill
    },
    Effect.mapError((error) => (typeof error === "string" ? error : error.message)),
    Effect.timeoutOrElse({ duration: connectTimeout, orElse: () => Effect.fail("staging timed out") })
  )

  return Effect.fnUntraced(function* (server: OfferedServer, previous: ReadonlyArray<StagedSkill>) {
    const { problems, skills } = parseSkills(skillResourcesOf(server))
    const staged = yield* Effect.forEach(
      skills,
      Effect.fnUntraced(function* (resource) {
        const known = previous.find((one) => one.resource.skill === resource.skill)
        const isCurrent = resource.etag !== undefined && JSON.stringify(known?.resource) === JSON.stringify(resource)
        if (known !== undefined && isCurrent) return { skills: [known], problems: [] }
        const outcome = yield* Effect.result(stageSkill(server, resource))
        if (Result.isSuccess(outcome)) return { skills: [outcome.success], problems: [] }
        const failed = { skill: resource.uri, reason: outcome.failure }
        const isKept = known !== undefined && known.resource.origin._tag !== "Mounted"
        return { skills: isKept ? [known] : [], problems: [failed] }
      }),
      { concurrency: stagingConcurrency }
    )
    return {
      skills: staged.flatMap((one) => one.skills),
      problems: [...problems, ...staged.flatMap((one) => one.problems)]
    }
  })
})
