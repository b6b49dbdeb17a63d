import { Result } from "effect"
import { asObject, asString, type JsonObject, stringOrEmpty } from "../json.ts"
import { definedOnly } from "../objects.ts"
import { parseUri } from "../uri.ts"
import { checkNameSegment } from "./skillNames.ts"
import { normalizePath } from "./skillPaths.ts"

const archiveFormats = ["tar.gz", "zip"] as const
export type ArchiveFormat = (typeof archiveFormats)[number]

/** Where the files of a skill of an MCP server are. */
export type SkillOrigin =
  /** In a folder of this host. */
  | { readonly _tag: "Mounted"; readonly folder: string }
  /** In a resource of the server; the hash (SHA-256) is in hexadecimal. */
  | { readonly _tag: "Archive"; readonly uri: string; readonly format: ArchiveFormat; readonly sha256?: string }
  /** In resources below that of the skill. */
  | { readonly _tag: "Resources" }

/** A skill that an MCP server lists as a resource. */
export interface SkillResource {
  readonly uri: string
  readonly skill: string
  readonly origin: SkillOrigin
  readonly version?: string
  /** Changes with the files of the skill. */
  readonly etag?: string
}

export const hasSkillScheme = (uri: string): boolean => /^skill:/i.test(uri)

const parseSkillUri = (uri: string) => (hasSkillScheme(uri) ? Result.getOrUndefined(parseUri(uri)) : undefined)

const parseOrigin = (meta: JsonObject): Result.Result<SkillOrigin, string> => {
  switch (meta["source"]) {
    case "mounted": {
      const folder = stringOrEmpty(meta["mount_dir"])
      const isAbsolute = /^(?:[/\\]|[A-Za-z]:[/\\])/.test(folder)
      return isAbsolute ? Result.succeed({ _tag: "Mounted", folder }) : Result.fail("mount_dir is not an absolute path")
    }
    case "archive": {
      const uri = stringOrEmpty(meta["archive_uri"])
      const format = archiveFormats.find((one) => one === meta["archive_format"])
      if (uri === "") return Result.fail("archive_uri is missing")
      if (format === undefined) return Result.fail(`archive_format must be one of ${archiveFormats.join(", ")}`)
      const sha256 = asString(meta["archive_sha256"])?.toLowerCase()
      return Result.succeed({ _tag: "Archive", uri, format, ...definedOnly({ sha256 }) })
    }
    case "resources":
      return Result.succeed({ _tag: "Resources" })
    default:
      return Result.fail("_meta.source must be one of mounted, archive, resources")
  }
}

/**
 * Reads a listed resource as a skill: `skill://host/name` with its source in `_meta`. Gives `undefined` for other
 * resources, and the reason for an unusable skill.
 */
export const parseSkillResource = (resource: JsonObject): Result.Result<SkillResource, string> | undefined => {
  const uri = stringOrEmpty(resource["uri"])
  const parsed = parseSkillUri(uri)
  const meta = asObject(resource["_meta"])
  const [skill = "", ...below] = parsed?.path ?? []
  if (parsed === undefined || below.length > 0 || meta["source"] === undefined) return undefined
  const problem = checkNameSegment(skill)
  if (problem !== undefined) return Result.fail(`invalid name: ${problem}`)
  return Result.map(parseOrigin(meta), (origin) => ({
    uri,
    skill,
    origin,
    ...definedOnly({ version: asString(meta["version"]), etag: asString(meta["etag"]) })
  }))
}

/**
 * Finds the resources below that of a skill, with their paths below its folder. Fails with the URI of one that is no file
 * there.
 */
export const findSkillFiles = ({ uri }: SkillResource, resources: ReadonlyArray<JsonObject>) => {
  const skill = parseSkillUri(uri)
  const files = resources.flatMap((resource) => {
    const fileUri = stringOrEmpty(resource["uri"])
    const parsed = parseSkillUri(fileUri)
    if (parsed === undefined || parsed.host !== skill?.host) return []
    const [first, ...below] = parsed.path
    // A path that ends with a slash is a folder.
    if (first !== skill.path[0] || below.length === 0 || below.at(-1) === "") return []
    // A decoded segment must not become two.
    const isNested = below.some((segment) => segment.includes("/"))
    const path = isNested ? Result.fail("traversal") : normalizePath(below.join("/"))
    return [
      Result.mapBoth(path, {
        onFailure: () => `${fileUri} is no path below the skill`,
        onSuccess: (relPath) => ({ uri: fileUri, relPath })
      })
    ]
  })
  return Result.all(files)
}
