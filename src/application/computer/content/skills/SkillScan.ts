import { Effect, Result } from "effect"
import { type SkillRef, skillMainFile } from "../../../../domain/model/messages/requests.ts"
import { parseJson } from "../../../../domain/json.ts"
import { maxFrontMatterBytes, parseSkillManifest, splitFrontMatter } from "../../../../domain/skills/frontMatter.ts"
import {
  defaultSkillsFolder,
  joinFolders,
  marketplaceFile,
  type MarketplacePlugin,
  parseMarketplace,
  parsePluginManifest,
  pluginFile,
  type PluginManifest,
  sameFolder
} from "../../../../domain/skills/marketplace.ts"
import {
  checkNameSegment,
  formatSkillName,
  marketplaceSource,
  type SkillName,
  userSource
} from "../../../../domain/skills/skillNames.ts"
import { definedOnly } from "../../../../domain/objects.ts"
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
export const readSkillManifest = Effect.fnUntraced(function* (files: Files, root: string) {
  const file = yield* files.open(root, skillMainFile)
  const { yaml } = splitFrontMatter(yield* file.read(0, maxFrontMatterBytes + 1))
  if (yaml === undefined) return Result.fail(`${skillMainFile} has no front matter`)
  const parsed = Effect.mapError(files.parseYaml(yaml), (reason) => `invalid front matter: ${reason}`)
  return Result.flatMap(yield* Effect.result(parsed), parseSkillManifest)
}, Effect.scoped)

/** Reads a file of JSON below a root; `undefined` for a missing one. The inner result fails with the reason. */
const readJsonFile = Effect.fnUntraced(
  function* (files: Files, root: string, path: string) {
    const file = yield* files.open(root, path)
    if (file.size > skillLimits.maxManifestBytes) return Result.fail(`${path} is too large`)
    const value = parseJson(decodeUtf8Lossy(yield* file.read(0, file.size)))
    return value === undefined ? Result.fail(`${path} is not JSON`) : Result.succeed(value)
  },
  Effect.scoped,
  Effect.catchIf(
    (error) => error.reason === "not_found",
    () => Effect.undefined
  )
)

/** Skills that are read at the same time. */
const scanConcurrency = 16

/** The problem of a skill, or of a source of skills, that cannot be read. */
const orProblem = (scan: Effect.Effect<SkillScan, SkillFileError | string>, source: string, skill: string) =>
  Effect.catch(scan, (error) =>
    Effect.succeed(problemScan(source, skill, typeof error === "string" ? error : error.message))
  )

interface FolderSource {
  readonly source: string
  readonly nameOf: (skill: string) => SkillName
  readonly version?: string | undefined
}

/** Reads one skill by its real folder. A folder without a main file is no skill. */
const readSkill = (files: Files, root: string, { nameOf, source, version }: FolderSource): Effect.Effect<SkillScan> =>
  Effect.match(readSkillManifest(files, root), {
    onFailure: ({ message, reason }) => (reason === "not_found" ? emptyScan : problemScan(source, root, message)),
    onSuccess: (manifest) => {
      if (Result.isFailure(manifest)) return problemScan(source, root, manifest.failure)
      const { name, ...shown } = manifest.success
      const problem = checkNameSegment(name)
      if (problem !== undefined) return problemScan(source, root, `invalid name: ${problem}`)
      const named = { name: formatSkillName(nameOf(name)), source, path: root, ...definedOnly({ version }) }
      return { skills: [{ root, ref: { ...shown, ...named } }], problems: [] }
    }
  })

/** Reads skills in the order of their names; `locate` gives the real folder of one. */
const readSkills = Effect.fnUntraced(function* (
  files: Files,
  names: ReadonlyArray<string>,
  locate: (name: string) => Effect.Effect<string, SkillFileError>,
  source: FolderSource
) {
  const read = (name: string) =>
    Effect.matchEffect(locate(name), {
      onFailure: ({ message }) => Effect.succeed(problemScan(source.source, name, message)),
      onSuccess: (root) => readSkill(files, root, source)
    })
  const { maxEntries } = skillLimits
  const scans = yield* Effect.forEach(names.slice(0, maxEntries), read, { concurrency: scanConcurrency })
  const omitted = problemScan(source.source, "", `more than ${maxEntries} folders`)
  return joinScans(names.length > maxEntries ? [...scans, omitted] : scans)
})

/** Finds the skills of the user: one in each folder of `folder`, which may be a link to another place. */
export const scanUserFolder = (files: Files, folder: string): Effect.Effect<SkillScan> =>
  Effect.flatMap(files.listFolders(folder), (names) =>
    readSkills(files, names, (name) => files.resolveFolder(`${folder}/${name}`, sameFolder), {
      source: userSource,
      nameOf: (skill) => ({ _tag: "User", skill })
    })
  ).pipe((scan) => orProblem(scan, userSource, folder))

/** Finds the folders that may be skills: those named by the plugin, or the folders in them. Paths below `root`. */
const skillFoldersOf = Effect.fnUntraced(function* (
  files: Files,
  root: string,
  { skillFolders = [defaultSkillsFolder] }: PluginManifest
) {
  const found = yield* Effect.forEach(
    skillFolders,
    Effect.fnUntraced(function* (folder) {
      const path = yield* files.resolveFolder(root, folder)
      const isSkill = (yield* Effect.result(readSkillManifest(files, path)))._tag === "Success"
      return isSkill ? [folder] : (yield* files.listFolders(path)).map((name) => joinFolders(folder, name))
    })
  )
  return found.flat()
})

const scanPlugin = Effect.fnUntraced(
  function* (files: Files, source: string, marketplaceRoot: string, plugin: MarketplacePlugin) {
    const root = yield* files.resolveFolder(marketplaceRoot, plugin.folder)
    const read = yield* readJsonFile(files, root, pluginFile)
    const manifest = yield* Effect.fromResult(Result.flatMap(read ?? Result.succeed({}), parsePluginManifest))
    const declared: PluginManifest = { ...plugin, ...manifest }
    const isOptional = declared.skillFolders === undefined
    const folders = yield* Effect.catchIf(
      skillFoldersOf(files, root, declared),
      ({ reason }) => isOptional && reason === "not_found",
      () => Effect.succeed([])
    )
    return yield* readSkills(files, folders, (folder) => files.resolveFolder(root, folder), {
      source,
      nameOf: (skill) => ({ _tag: "Marketplace", plugin: plugin.name, skill }),
      version: declared.version
    })
  },
  (effect, _files, source, _root, { name }) => orProblem(effect, source, name)
)

const baseName = (path: string): string => path.split(/[/\\]/).findLast((segment) => segment !== "") ?? path

/** Finds the skills of a marketplace: a folder with plugins. Links must not lead out of the folder of a plugin. */
export const scanMarketplace = Effect.fnUntraced(
  function* (files: Files, folder: string) {
    const root = yield* files.resolveFolder(folder, sameFolder)
    const read = yield* readJsonFile(files, root, marketplaceFile)
    const { name, plugins, rejected } = yield* Effect.fromResult(
      Result.flatMap(read ?? Result.fail(`${marketplaceFile} is missing`), parseMarketplace)
    )
    const source = marketplaceSource(name ?? baseName(root))
    const scans = yield* Effect.forEach(plugins, (plugin) => scanPlugin(files, source, root, plugin))
    return joinScans([...scans, ...rejected.map(({ plugin, reason }) => problemScan(source, plugin, reason))])
  },
  (effect, _files, folder) => orProblem(effect, marketplaceSource(baseName(folder)), "")
)
