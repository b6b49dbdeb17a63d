import { Effect, Result } from "effect"
import {
  defaultSkillsFolder,
  type Marketplace,
  marketplaceFile,
  type MarketplacePlugin,
  parseMarketplace,
  parsePluginManifest,
  pluginFile,
  type PluginManifest,
  sameFolder
} from "../../../../domain/skills/marketplace.ts"
import { skillLimits } from "../../../../domain/skills/skillLimits.ts"
import {
  checkNameSegment,
  formatSkillName,
  marketplaceSource,
  type SkillName,
  userSource
} from "../../../../domain/skills/skillNames.ts"
import type { SkillFileError, SkillFiles } from "../../../ports/files/SkillFiles.ts"
import { readJsonFile, readSkillManifest, emptyScan, joinScans, problemScan, type SkillScan } from "./SkillScan.ts"

type Files = SkillFiles["Service"]

/** Skills that are read at the same time. */
const scanConcurrency = 16

const joinPath = (folder: string, name: string): string => (folder === sameFolder ? name : `${folder}/${name}`)

interface FolderSource {
  readonly source: string
  readonly nameOf: (skill: string) => SkillName
  readonly version?: string | undefined
}

/** Reads one skill by its real folder. A folder without a main file is no skill. */
const readSkill = Effect.fnUntraced(
  function* (files: Files, root: string, { nameOf, source, version }: FolderSource) {
    const manifest = yield* readSkillManifest(files, root)
    if (Result.isFailure(manifest)) return problemScan(source, root, manifest.failure)
    const { name, ...shown } = manifest.success
    const problem = checkNameSegment(name)
    if (problem !== undefined) return problemScan(source, root, `invalid name: ${problem}`)
    const ref = { ...shown, name: formatSkillName(nameOf(name)), source, path: root }
    return { skills: [{ root, ref: version === undefined ? ref : { ...ref, version } }], problems: [] }
  },
  (effect, _files, root, { source }) =>
    Effect.catch(effect, ({ message, reason }) =>
      Effect.succeed(reason === "not_found" ? emptyScan : problemScan(source, root, message))
    )
)

/** Reads skills in the order of their names; `locate` gives the real folder of one. */
const readSkills = (
  files: Files,
  names: ReadonlyArray<string>,
  locate: (name: string) => Effect.Effect<string, SkillFileError>,
  source: FolderSource
): Effect.Effect<SkillScan> => {
  const read = (name: string) =>
    Effect.matchEffect(locate(name), {
      onFailure: ({ message }) => Effect.succeed(problemScan(source.source, name, message)),
      onSuccess: (root) => readSkill(files, root, source)
    })
  const { maxEntries } = skillLimits
  const omitted =
    names.length > maxEntries ? problemScan(source.source, "", `more than ${maxEntries} folders`) : emptyScan
  return Effect.map(Effect.forEach(names.slice(0, maxEntries), read, { concurrency: scanConcurrency }), (scans) =>
    joinScans([...scans, omitted])
  )
}

/** Finds the skills of the user: one in each folder of `folder`, which may be a link to another place. */
export const scanUserFolder = (files: Files, folder: string): Effect.Effect<SkillScan> =>
  files.listFolders(folder).pipe(
    Effect.flatMap((names) =>
      readSkills(files, names, (name) => files.resolveFolder(`${folder}/${name}`, sameFolder), {
        source: userSource,
        nameOf: (skill) => ({ _tag: "User", skill })
      })
    ),
    Effect.catch(({ message }) => Effect.succeed(problemScan(userSource, folder, message)))
  )

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
      return isSkill ? [folder] : (yield* files.listFolders(path)).map((name) => joinPath(folder, name))
    })
  )
  return found.flat()
})

const scanPlugin = (
  files: Files,
  source: string,
  marketplaceRoot: string,
  plugin: MarketplacePlugin
): Effect.Effect<SkillScan> =>
  Effect.gen(function* () {
    const root = yield* files.resolveFolder(marketplaceRoot, plugin.folder)
    const read = yield* readJsonFile(files, root, pluginFile)
    const manifest = Result.flatMap(read ?? Result.succeed({}), parsePluginManifest)
    if (Result.isFailure(manifest)) return problemScan(source, plugin.name, manifest.failure)
    const declared: PluginManifest = { ...plugin, ...manifest.success }
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
  }).pipe(Effect.catch(({ message }) => Effect.succeed(problemScan(source, plugin.name, message))))

const baseName = (path: string): string => path.split(/[/\\]/).findLast((segment) => segment !== "") ?? path

const scanPlugins = (files: Files, root: string, { name, plugins, rejected }: Marketplace) => {
  const source = marketplaceSource(name ?? baseName(root))
  const problems = rejected.map(({ plugin, reason }) => ({ source, skill: plugin, reason }))
  return Effect.map(
    Effect.forEach(plugins, (plugin) => scanPlugin(files, source, root, plugin)),
    (scans) => joinScans([...scans, { skills: [], problems }])
  )
}

/** Finds the skills of a marketplace: a folder with plugins. Links must not lead out of the folder of a plugin. */
export const scanMarketplace = (files: Files, folder: string): Effect.Effect<SkillScan> =>
  Effect.gen(function* () {
    const root = yield* files.resolveFolder(folder, sameFolder)
    const read = yield* readJsonFile(files, root, marketplaceFile)
    const marketplace = Result.flatMap(read ?? Result.fail(`${marketplaceFile} is missing`), parseMarketplace)
    return Result.isFailure(marketplace)
      ? problemScan(marketplaceSource(baseName(folder)), "", marketplace.failure)
      : yield* scanPlugins(files, root, marketplace.success)
  }).pipe(Effect.catch(({ message }) => Effect.succeed(problemScan(marketplaceSource(baseName(folder)), "", message))))
