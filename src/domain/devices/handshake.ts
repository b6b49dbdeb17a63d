import { Result } from "effect"

/** Credentials of a device in its AUTH frame (seed 002: parent protocol). */
export interface DeviceCredentials {
  readonly token: string
  /** Options by name, such as `lang` or `voiceid`; `name` is the name of the device. */
  readonly options: ReadonlyMap<string, string>
}

/** Starts an option or a status; a token must not contain it. */
const separator = "##"

/** Splits at the first colon; without one the value is empty. */
const splitAtColon = (text: string): readonly [name: string, value: string] => {
  const colon = text.indexOf(":")
  return colon < 0 ? [text, ""] : [text.slice(0, colon), text.slice(colon + 1)]
}

/** Parses the payload of an AUTH frame: a token, then `##name:value` per option. The first option of a name counts. */
export const parseCredentials = (text: string): DeviceCredentials => {
  const [token = "", ...rest] = text.split(separator)
  const options = new Map<string, string>()
  for (const [name, value] of rest.map(splitAtColon)) if (!options.has(name)) options.set(name, value)
  return { token: token.trim(), options }
}

/**
 * Formats the payload of an AUTH frame. The inverse of {@link parseCredentials}: rejects a token or an option that it
 * would read otherwise. The error names none of them, since a token is a secret.
 */
export const formatCredentials = ({ options, token }: DeviceCredentials): Result.Result<string, string> => {
  const text = [token, ...[...options].map(([name, value]) => `${name}:${value}`)].join(separator)
  const parsed = parseCredentials(text)
  const isSame =
    parsed.token === token &&
    parsed.options.size === options.size &&
    [...options].every(([name, value]) => parsed.options.get(name) === value)
  return isSame ? Result.succeed(text) : Result.fail("AUTH cannot carry the token and the options")
}

/** True for a token or a name that AUTH can carry. */
export const isValidAuthField = (text: string): boolean => !text.includes(separator)

/** True for a token that survives formatting and parsing unchanged with any options, and is not empty. */
export const isValidDeviceToken = (text: string): boolean =>
  text !== "" && text === text.trim() && isValidAuthField(text) && !text.endsWith("#")

/** A STATUS frame or the reply to AUTH: `##KIND:text`. Kinds are upper-case; unknown kinds are kept. */
export interface StatusMessage {
  readonly kind: string
  readonly text: string
}

/** Parses a status; without the leading `##`, the kind starts at the first character. */
export const parseStatus = (payload: string): StatusMessage => {
  const content = payload.startsWith(separator) ? payload.slice(separator.length) : payload
  const [kind, text] = splitAtColon(content)
  return { kind: kind.trim().toUpperCase(), text: text.trim() }
}

export const formatStatus = (kind: string, text = ""): string =>
  text === "" ? `${separator}${kind}` : `${separator}${kind}:${text}`

/** Task of AUTH and STATUS, and the recommended task of MCP frames (seed 002 §2.3). */
export const tasks = { system: "00000000", mcp: "mcp00001" } as const
