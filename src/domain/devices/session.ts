/** The frames that open, keep and end a connection: AUTH and STATUS of the parent protocol. */

/** What a device shows when it connects. */
export interface Credentials {
  readonly token: string
  /** What it wishes, by name, as `lang` or `voiceid`; `name` is the one it goes by. */
  readonly options: ReadonlyMap<string, string>
}

/** What begins an option, a status, and nothing inside a token. */
const mark = "##"

/** Reads what an AUTH frame carries: a token, then `##name:value` for each option. The first of a name counts. */
export const readCredentials = (text: string): Credentials => {
  const [token = "", ...rest] = text.split(mark)
  const options = new Map<string, string>()
  for (const option of rest) {
    const colon = option.indexOf(":")
    const name = colon < 0 ? option : option.slice(0, colon)
    if (!options.has(name)) options.set(name, colon < 0 ? "" : option.slice(colon + 1))
  }
  return { token: token.trim(), options }
}

/** Writes what an AUTH frame carries; neither the token nor an option may hold `##`. */
export const writeCredentials = ({ options, token }: Credentials): string =>
  [token, ...[...options].map(([name, value]) => `${name}:${value}`)].join(mark)

/** True for a token or a name that can be written into an AUTH frame. */
export const isWritable = (text: string): boolean => !text.includes(mark)

/** True for a token that a device can show: it is something, can be written, and is read as it was written. */
export const isToken = (text: string): boolean => text !== "" && text === text.trim() && isWritable(text)

/** What a STATUS frame or the answer to AUTH says: `##KIND:text`. Kinds are in capitals; unknown ones are kept. */
export interface Status {
  readonly kind: string
  readonly text: string
}

/** Reads a status; one that does not begin as it should is of the kind of what it says. */
export const readStatus = (payload: string): Status => {
  const said = payload.startsWith(mark) ? payload.slice(mark.length) : payload
  const colon = said.indexOf(":")
  return colon < 0
    ? { kind: said.trim().toUpperCase(), text: "" }
    : { kind: said.slice(0, colon).trim().toUpperCase(), text: said.slice(colon + 1).trim() }
}

/** Writes a status. */
export const writeStatus = (kind: string, text = ""): string =>
  text === "" ? `${mark}${kind}` : `${mark}${kind}:${text}`

/** The task that AUTH and STATUS belong to, and the one that MCP is recommended to use (seed 002 §2.3). */
export const tasks = { system: "00000000", mcp: "mcp00001" } as const
