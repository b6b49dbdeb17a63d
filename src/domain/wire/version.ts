import { Result } from "effect"
import { errorCodes } from "../model/ProtocolError.ts"

/** The URL query parameter for the version (spec §2). */
export const versionQueryParameter = "a2c_version"

/** `MAJOR.MINOR.PATCH`, each a number without sign or leading zeros. */
export interface Version {
  readonly major: number
  readonly minor: number
  readonly patch: number
}

const versionPattern = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/

/** The maximum length of a version. Error replies must not repeat long input. */
const maxVersionLength = 32

/** Parses a version (spec §2.1). Larger numbers than the safe integers would lose digits. */
export const parseVersion = (text: string): Result.Result<Version, string> => {
  if (text.length > maxVersionLength) return Result.fail(`longer than ${maxVersionLength} characters`)
  const [, ...numbers] = versionPattern.exec(text) ?? []
  const [major = NaN, minor = NaN, patch = NaN] = numbers.map(Number)
  return [major, minor, patch].every(Number.isSafeInteger)
    ? Result.succeed({ major, minor, patch })
    : Result.fail(`expected MAJOR.MINOR.PATCH, got ${JSON.stringify(text)}`)
}

/** The inverse of {@link parseVersion}. */
export const formatVersion = ({ major, minor, patch }: Version): string => `${major}.${minor}.${patch}`

/** Before 1.0 the minors must be equal; from 1.0 on the client may be older. The patch never matters (spec §2.2). */
export const isCompatible = (client: Version, server: Version): boolean =>
  client.major === server.major && (client.major === 0 ? client.minor === server.minor : client.minor <= server.minor)

/** Negative when the first version is older. */
export const compareVersions = (one: Version, other: Version): number =>
  one.major - other.major || one.minor - other.minor || one.patch - other.patch

/** The body of a version mismatch, with the field names of the wire. */
export interface VersionMismatch {
  readonly code: typeof errorCodes.versionMismatch
  readonly message: string
  readonly server_version: string
  readonly client_version: string
  readonly min_supported: string
  readonly max_supported: string
}

/** The HTTP response to a rejected handshake (spec §2.1). */
export interface VersionRejection {
  readonly status: 400
  readonly headers: { readonly [name: string]: string }
  readonly body: { readonly code: 400; readonly message: string } | VersionMismatch
}

const reject = (body: VersionRejection["body"], headers: VersionRejection["headers"] = {}) =>
  Result.fail<VersionRejection>({ status: 400, headers, body })

const missingVersion = `Missing ${versionQueryParameter} query parameter`

const invalidVersion = `Invalid ${versionQueryParameter}: `

const rejectBadRequest = (message: string) => reject({ code: 400, message })

/** True for the message of a Server to a handshake with a missing or invalid version; the reason is free (spec §2.1). */
export const isBadVersionMessage = (message: string) => message === missingVersion || message.startsWith(invalidVersion)

/** The message of a Server to a page of another origin. */
export const originNotAllowedMessage = "Origin not allowed"

const oldestCompatible = (server: Version): Version =>
  server.major === 0 ? { ...server, patch: 0 } : { ...server, minor: 0, patch: 0 }

/** The versions of the lines that a Server serves, oldest first. */
export type ServedVersions = readonly [Version, ...ReadonlyArray<Version>]

const rejectMismatch = (client: Version, served: ServedVersions) => {
  const newest = served.at(-1) ?? served[0]
  const body = {
    code: errorCodes.versionMismatch,
    message: "Protocol version mismatch",
    server_version: formatVersion(newest),
    client_version: formatVersion(client),
    min_supported: formatVersion(oldestCompatible(served[0])),
    max_supported: formatVersion({ ...newest, patch: 999 })
  } as const
  return reject(body, { "X-A2C-Error-Code": String(errorCodes.versionMismatch) })
}

/** Checks the values of `a2c_version` in a handshake (spec §2.1, cases 001–016). */
export const versionGate = (
  values: ReadonlyArray<string>,
  served: ServedVersions
): Result.Result<Version, VersionRejection> => {
  const [text = "", ...others] = values
  if (text === "" && others.length === 0) return rejectBadRequest(missingVersion)
  if (others.length > 0) return rejectBadRequest(`${invalidVersion}given more than once`)
  return Result.match(parseVersion(text), {
    onFailure: (reason) => rejectBadRequest(`${invalidVersion}${reason}`),
    onSuccess: (client) =>
      served.some((server) => isCompatible(client, server)) ? Result.succeed(client) : rejectMismatch(client, served)
  })
}
