import type { ComputerName } from "../model/ids.ts"
/** A tool by its owner, a Computer or a device, and its name there. */
export interface ToolIdentity {
  readonly owner: string
  readonly tool: string
}

/** The default maximum length: hosts accept 64 characters, including their prefix `mcp__<server>__`. */
export const defaultMaxNameLength = 45
/** The smallest maximum length: shorter names cannot hold both parts and the hash. */
export const lowestMaxNameLength = 24

/** The longest tool name that every MCP host accepts without a prefix. */
export const longestToolName = 64

const separator = "__"

/** Digits of the hash in base 36: collisions of 8 digits are negligible. */
const hashSuffixLength = 8

/** FNV-1a with 64 bits, in base 36. */
const hashSuffix = (text: string): string => {
  let hash = 0xcbf29ce484222325n
  for (let index = 0; index < text.length; index++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(index))) * 0x100000001b3n)
  }
  return hash.toString(36).padStart(hashSuffixLength, "0").slice(-hashSuffixLength)
}

/** Replaces the characters that some hosts reject: all but letters, digits, `_` and `-`. */
const sanitize = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, "_")

/** True when the joined name determines both parts. */
const isUnambiguous = ({ owner, tool }: ToolIdentity): boolean =>
  sanitize(owner + tool) === owner + tool &&
  owner !== "" &&
  !owner.includes(separator) &&
  !owner.endsWith("_") &&
  !tool.startsWith("_")

/**
 * Formats the name of a tool for hosts with one flat list of tools: `owner__tool`, of letters, digits, `_` and `-`.
 * The name depends on the identity alone: it is stable when others join or leave. A shortened or sanitized name ends
 * with a hash of the identity. `maxLength` counts as at least {@link lowestMaxNameLength}.
 */
export const exposedName = (identity: ToolIdentity, maxLength = defaultMaxNameLength): string => {
  const { owner, tool } = identity
  const fullName = `${owner}${separator}${tool}`
  if (isUnambiguous(identity) && fullName.length <= maxLength) return fullName
  const room = Math.max(maxLength, lowestMaxNameLength) - separator.length - 1 - hashSuffixLength
  // The tool is more informative than its owner: it gets at least two thirds.
  const first = sanitize(owner).slice(0, Math.max(Math.floor(room / 3), room - tool.length))
  const second = sanitize(tool).slice(0, room - first.length)
  return `${first}${separator}${second}_${hashSuffix(JSON.stringify([owner, tool]))}`
}

/** Formats the name of a Computer as the first label of a host: lower-case letters, digits and `-`. */
export const hostLabel = (computer: ComputerName): string =>
  /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(computer) && !/-[a-z0-9]{8}$/.test(computer)
    ? computer
    : `${sanitize(computer).toLowerCase().replaceAll("_", "-").slice(0, 40)}-${hashSuffix(computer)}`

/** Sanitizes and shortens a name for all hosts. A changed name ends with a hash of the original. */
export const sanitizeName = (name: string, maxLength: number): string =>
  sanitize(name) === name && name !== "" && name.length <= maxLength
    ? name
    : `${sanitize(name).slice(0, maxLength - hashSuffixLength - 1)}_${hashSuffix(name)}`
