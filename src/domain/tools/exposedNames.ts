/** A tool among those of many: whose it is, a Computer's or a device's, and the name it goes by there. */
export interface ToolIdentity {
  readonly owner: string
  readonly tool: string
}

/** How long a name may be that every host accepts, with what hosts put before it: 64 less `mcp__<server>__`. */
export const defaultMaxNameLength = 45

/** Shorter names leave no room for both parts and the mark that keeps them apart. */
export const lowestMaxNameLength = 24

/** What stands between the owner and the tool. */
const separator = "__"

/** Digits of the mark: 36 to the power of 8 identities share a mark by chance no more than once in millions. */
const hashSuffixLength = 8

const offsetBasis = 0xcbf29ce484222325n
const prime = 0x100000001b3n
const mask = 0xffffffffffffffffn

/** FNV-1a with 64 bits, in digits and small letters. */
const hashSuffix = (text: string): string => {
  let hash = offsetBasis
  for (let index = 0; index < text.length; index++) {
    hash = ((hash ^ BigInt(text.charCodeAt(index))) * prime) & mask
  }
  return hash.toString(36).padStart(hashSuffixLength, "0").slice(-hashSuffixLength)
}

/** Only what every host takes: letters, digits, `_` and `-`. */
const sanitize = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, "_")

/** Could be read back: where the first part ends is beyond doubt. */
const isUnambiguous = ({ owner, tool }: ToolIdentity): boolean =>
  sanitize(owner) === owner &&
  sanitize(tool) === tool &&
  owner !== "" &&
  !owner.includes(separator) &&
  !owner.endsWith("_") &&
  !tool.startsWith("_")

/**
 * The name of a tool for hosts that know one flat list of tools: `owner__tool`, of letters, digits, `_` and
 * `-` and within the budget, which is at least {@link lowestMaxNameLength}. It depends on the identity alone, so that it
 * stays the same whoever joins or leaves; what had to be changed to fit ends in a mark of the whole identity.
 */
export const exposedName = (identity: ToolIdentity, maxLength = defaultMaxNameLength): string => {
  const { owner, tool } = identity
  const fullName = `${owner}${separator}${tool}`
  if (isUnambiguous(identity) && fullName.length <= maxLength) return fullName
  const room = Math.max(maxLength, lowestMaxNameLength) - separator.length - 1 - hashSuffixLength
  // The tool says more than its owner: it may take what the owner leaves, and two thirds at least.
  const first = sanitize(owner).slice(0, Math.max(Math.floor(room / 3), room - tool.length))
  const second = sanitize(tool).slice(0, room - first.length)
  return `${first}${separator}${second}_${hashSuffix(JSON.stringify([owner, tool]))}`
}

/** A Computer's name as the first part of a host in a URI: small letters, digits and `-`. */
export const hostLabel = (computer: string): string =>
  /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(computer) && !/-[a-z0-9]{8}$/.test(computer)
    ? computer
    : `${sanitize(computer).toLowerCase().replaceAll("_", "-").slice(0, 40)}-${hashSuffix(computer)}`

/** A name as every host takes it, within the budget; what had to be changed to fit ends in a mark of the whole. */
export const sanitizeName = (name: string, maxLength: number): string =>
  sanitize(name) === name && name !== "" && name.length <= maxLength
    ? name
    : `${sanitize(name).slice(0, maxLength - hashSuffixLength - 1)}_${hashSuffix(name)}`
