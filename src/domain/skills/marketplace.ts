import { Array, Result } from "effect"
import { asObject, asString, asStrings, isJsonObject, type JsonObject } from "../json.ts"
import { definedOnly } from "../objects.ts"
import { skillLimits } from "./skillLimits.ts"
import { checkNameSegment } from "./skillNames.ts"
import { normalizePath } from "./skillPaths.ts"

/** Where a marketplace lists its plugins, below its folder. */
export const marketplaceFile = ".claude-plugin/marketplace.json"

/** Where a plugin describes itself, below its folder. */
export const pluginFile = ".claude-plugin/plugin.json"

/** The folder of a plugin's skills when neither it nor its marketplace names others. */
export const defaultSkillsFolder = "skills"

/** The folder itself, as a path below it. */
export const sameFolder = "."

/** What a plugin, or its entry in a marketplace, states about its skills. */
export interface PluginManifest {
  readonly version?: string
  /** Folders of skills or of one skill, below the folder of the plugin. */
  readonly skillFolders?: ReadonlyArray<string>
}

export interface MarketplacePlugin extends PluginManifest {
  readonly name: string
  /** Its folder below that of the marketplace. */
  readonly folder: string
}

/** Normalizes a path below a folder, which may be the folder itself. */
const parseFolder = (path: string): Result.Result<string, "traversal"> =>
  Result.orElse(normalizePath(path), (problem) =>
    problem === "traversal" ? Result.fail(problem) : Result.succeed(sameFolder)
  )

export const joinFolders = (folder: string, below: string): string => {
  if (folder === sameFolder) return below
  return below === sameFolder ? folder : `${folder}/${below}`
}

const parseSkillFolders = (value: unknown): Result.Result<ReadonlyArray<string> | undefined, string> => {
  if (value === undefined || value === null) return Result.succeed(undefined)
  const paths = typeof value === "string" ? [value] : asStrings(value)
  if (paths === undefined) return Result.fail("skills is neither a path nor a list of paths")
  return Result.mapError(Result.all(paths.map(parseFolder)), () => "skills names a path outside of the plugin")
}

/** Reads the value of a `plugin.json`. Ignores unknown members. */
export const parsePluginManifest = (value: unknown): Result.Result<PluginManifest, string> => {
  if (!isJsonObject(value)) return Result.fail("not an object")
  return Result.map(parseSkillFolders(value["skills"]), (skillFolders) =>
    definedOnly({ version: asString(value["version"]), skillFolders })
  )
}

/** The folder of a plugin by its source. Plugins in other places must be fetched before; that is not done here. */
const parseSource = (source: unknown, root: string): Result.Result<string, string> => {
  if (typeof source !== "string") return Result.fail("its source is not a folder of the marketplace")
  if (/^[A-Za-z][A-Za-z0-9+.-]+:/.test(source)) return Result.fail("its source is a URL")
  return Result.mapBoth(parseFolder(source), {
    onFailure: () => "its source is outside of the marketplace",
    onSuccess: (folder) => joinFolders(root, folder)
  })
}

const parsePlugin = (entry: JsonObject, root: string): Result.Result<MarketplacePlugin, string> =>
  Result.gen(function* () {
    const name = asString(entry["name"]) ?? ""
    const problem = checkNameSegment(name)
    if (problem !== undefined) return yield* Result.fail(`invalid name: ${problem}`)
    const folder = yield* parseSource(entry["source"], root)
    return { ...(yield* parsePluginManifest(entry)), name, folder }
  })

/** Reads the value of a `marketplace.json`. Ignores unknown members, and rejects unusable plugins with their reasons. */
export const parseMarketplace = (value: unknown) => {
  if (!isJsonObject(value)) return Result.fail("not an object")
  const { plugins: entries } = value
  if (!Array.isArray(entries)) return Result.fail("plugins is not a list")
  const root = parseFolder(asString(asObject(value["metadata"])["pluginRoot"]) ?? sameFolder)
  if (Result.isFailure(root)) return Result.fail("metadata.pluginRoot is outside of the marketplace")
  const names = new Set<string>()
  const [plugins, rejected] = Array.partition(entries.slice(0, skillLimits.maxEntries), (entry: unknown, index) =>
    parsePlugin(asObject(entry), root.success).pipe(
      Result.filterOrFail(
        ({ name }) => !names.has(name) && names.add(name).size > 0,
        () => "another plugin has the same name"
      ),
      Result.mapError((reason) => ({ plugin: asString(asObject(entry)["name"]) ?? `[${index}]`, reason }))
    )
  )
  const omitted = entries.length - skillLimits.maxEntries
  if (omitted > 0) rejected.push({ plugin: `${omitted} more`, reason: `more than ${skillLimits.maxEntries} plugins` })
  return Result.succeed({ name: asString(value["name"]), plugins, rejected })
}
