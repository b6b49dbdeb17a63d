/** The frames that open, keep and end a connection: AUTH and STATUS of the parent protocol. */

/** What a device shows when it connects. */
export interface DeviceCredentials {
  readonly token: string
  /** What it wishes, by name, as `lang` or `voiceid`; `name` is the one it goes by. */
  readonly options: ReadonlyMap<string, string>
}

/** What begins an option, a status, and nothing inside a token. */
const separator = "##"

/** Reads what an AUTH frame carries: a token, then `##name:value` for each option. The first of a name counts. */
export const parseCredentials = (text: string): DeviceCredentials => {
  const [token = "", ...rest] = text.split(separator)
  const options = new Map<string, string>()
  for (const option of rest) {
    const colon = option.indexOf(":")
    const name = colon < 0 ? option : option.slice(0, colon)
    if (!options.has(name)) options.set(name, colon < 0 ? "" : option.slice(colon + 1))
  }
  return { token: token.trim(), options }
}

/** Writes what an AUTH frame carries; neither the token nor an option may hold `##`. */
export const formatCredentials = ({ options, token }: DeviceCredentials): string =>
  [token, ...[...options].map(([name, value]) => `${name}:${value}`)].join(separator)

/** True for a token or a name that can be written into an AUTH frame. */
export const isValidAuthField = (text: string): boolean => !text.includes(separator)

/** True for a token that a device can show: it is something, can be written, and is read as it was written. */
export const isValidDeviceToken = (text: string): boolean =>
  text !== "" && text === text.trim() && isValidAuthField(text)

/** What a STATUS frame or the answer to AUTH says: `##KIND:text`. Kinds are in capitals; unknown ones are kept. */
export interface StatusMessage {
  readonly kind: string
  readonly text: string
}

/** Reads a status; one that does not begin as it should is of the kind of what it says. */
export const parseStatus = (payload: string): StatusMessage => {
  const content = payload.startsWith(separator) ? payload.slice(separator.length) : payload
  const colon = content.indexOf(":")
  return colon < 0
    ? { kind: content.trim().toUpperCase(), text: "" }
    : { kind: content.slice(0, colon).trim().toUpperCase(), text: content.slice(colon + 1).trim() }
}

/** Writes a status. */
export const formatStatus = (kind: string, text = ""): string =>
  text === "" ? `${separator}${kind}` : `${separator}${kind}:${text}`

/** The task that AUTH and STATUS belong to, and the one that MCP is recommended to use (seed 002 §2.3). */
export const tasks = { system: "00000000", mcp: "mcp00001" } as const
