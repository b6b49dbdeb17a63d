import { Result } from "effect"
import type { ProtocolLine } from "./ProtocolLine.ts"
import { line as v0_2 } from "./v0_2/line.ts"
import { line as v0_3 } from "./v0_3/line.ts"
import { line as v0_4 } from "./v0_4/line.ts"
import {
  compareVersions,
  formatVersion,
  isCompatible,
  parseVersion,
  type Version,
  type VersionMismatch
} from "./version.ts"

/** The lines that this version speaks, oldest first. */
const linesByName = { "0.2": v0_2, "0.3": v0_3, "0.4": v0_4 }

/** The name of a protocol line, `MAJOR.MINOR`. */
export type LineName = keyof typeof linesByName

export const lineNames = Object.keys(linesByName) as ReadonlyArray<LineName>

/** Lines, oldest first. */
export type Lines = readonly [ProtocolLine, ...ReadonlyArray<ProtocolLine>]

/** The line of members that choose none. */
export const defaultLineName: LineName = "0.2"
export const defaultLine: ProtocolLine = linesByName[defaultLineName]

/** The version of members that choose no line. Clients send it in the URL. */
export const PROTOCOL_VERSION = formatVersion(defaultLine.version)

export const lineNamed = (name: LineName): ProtocolLine => linesByName[name]

/** The lines with these names, or all lines without names. */
export const linesNamed = (names: ReadonlyArray<LineName> = lineNames): Lines => {
  const [first, ...others] = lineNames.filter((name) => names.length === 0 || names.includes(name)).map(lineNamed)
  return [first ?? defaultLine, ...others]
}

const isLineName = (text: string): text is LineName => Object.hasOwn(linesByName, text)

/** Parses names of lines with commas in between; `undefined` when one is unknown. */
export const parseLineNames = (text: string): ReadonlyArray<LineName> | undefined => {
  const names = text.split(",").map((name) => name.trim())
  return names.every(isLineName) ? names : undefined
}

/** The line of a member with this version; the newest one for a version of a later line. */
export const lineForVersion = (version: Version, lines: Lines = linesNamed()): ProtocolLine =>
  lines.find((line) => isCompatible(version, line.version)) ?? lines.at(-1) ?? lines[0]

/** The lines that a Server may serve which has rejected a version, newest first. It need not serve all of them. */
export const linesWithin = ({ max_supported, min_supported }: VersionMismatch): ReadonlyArray<ProtocolLine> => {
  const [min, max] = [min_supported, max_supported].map((text) => Result.getOrUndefined(parseVersion(text)))
  if (min === undefined || max === undefined) return []
  const isWithin = ({ version }: ProtocolLine) =>
    compareVersions(min, version) <= 0 && compareVersions(version, max) <= 0
  return Object.values(linesByName).filter(isWithin).toReversed()
}

/** Formats a rejected version for people, with the lines that work. */
export const formatMismatch = (mismatch: VersionMismatch): string => {
  const { client_version, max_supported, min_supported } = mismatch
  const names = linesWithin(mismatch).map(({ name }) => name)
  const advice = names.length === 0 ? "" : `: use the protocol ${names.toReversed().join(" or ")}`
  return `Protocol version mismatch: the Server supports ${min_supported} to ${max_supported}, not ${client_version}${advice}`
}

/** The events that a Server routes to Computers, over all lines. */
export const routedEvents: ReadonlySet<string> = new Set(
  Object.values(linesByName).flatMap(({ calls }) => Object.values(calls).flatMap((call) => call?.event ?? []))
)

/** Decodes the protocol error of a reply whose line is no longer known; `undefined` when the reply is not an error. */
export const decodeProtocolError = defaultLine.decodeProtocolError
