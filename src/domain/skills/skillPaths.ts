import { Result } from "effect"
import { nameKey } from "../model/names.ts"

/** Why a path is rejected before the file system sees it. */
export type PathProblem = "traversal" | "forbidden" | "not_found"

const driveLetter = /^[A-Za-z]:/

/** Names of files with secrets, in lower case. The file systems of some hosts ignore the case. */
const credentialNames: ReadonlyArray<RegExp> = [
  /^\.skillenv$/,
  /^\.env(?:\..*)?$/,
  /^\.envrc$/,
  /\.(?:pem|key|p12|pfx|jks|keystore|kdbx)$/,
  /^id_(?:rsa|dsa|ecdsa|ed25519)/,
  /^\.netrc$/,
  /^_netrc$/,
  /^\.(?:npmrc|pypirc|pgpass|htpasswd|git-credentials)$/,
  /^credentials/
]

/** Folders whose files are never readable. */
const hiddenFolders: ReadonlySet<string> = new Set([".git", ".ssh", ".gnupg", ".aws"])

/** True for a folder that can be a skill: hidden folders and installed packages cannot. */
export const isSkillFolder = (name: string): boolean => !name.startsWith(".") && name !== "node_modules"

/** The form in which file systems compare names: without case, invisible characters, streams and trailing dots. */
const comparableName = (segment: string): string =>
  nameKey(segment)
    .toLowerCase()
    .replace(/(?<=.):.*$/s, "")
    .replace(/(?<=[^. ])[. ]+$/, "")

/** True for files with secrets and files of version control, by a normalized path. It need not exist. */
export const isForbiddenPath = (path: string): boolean => {
  const names = path.split("/").map(comparableName)
  return names.some((name) => hiddenFolders.has(name) || credentialNames.some((pattern) => pattern.test(name)))
}

/**
 * Normalizes a path below a folder: segments with `/` between them, without `.` and empty ones. Rejects absolute paths,
 * `..`, backslashes, NUL and drive letters as `traversal`, and a path without a segment as `not_found`.
 */
export const normalizePath = (path: string): Result.Result<string, Exclude<PathProblem, "forbidden">> => {
  if (path.startsWith("/") || path.includes("\\") || path.includes("\0")) return Result.fail("traversal")
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".")
  const [first] = segments
  if (segments.includes("..") || (first !== undefined && driveLetter.test(first))) return Result.fail("traversal")
  // The file system would look for a file with another name.
  return first === undefined || !path.isWellFormed() ? Result.fail("not_found") : Result.succeed(segments.join("/"))
}

/** Checks the path of a request for a file of a skill, and normalizes it. */
export const parseSkillPath = (path: string): Result.Result<string, PathProblem> =>
  Result.flatMap(normalizePath(path), (normalized) =>
    isForbiddenPath(normalized) ? Result.fail("forbidden") : Result.succeed(normalized)
  )
