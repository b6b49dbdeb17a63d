import { path } from "../limits.ts"

/** The details in which servers of the protocol differ. */
export interface Dialect {
  /** HTTP path of the handshake. */
  readonly path: string
  /** The `a2c_version` of the handshake. */
  readonly version: string
  /** True when two members of different offices must not have the same name. */
  readonly needsUniqueNames: boolean
  /** True when the server sorts the keys of the objects that it forwards. */
  readonly sortsKeys: boolean
  /** True when members name their office when they connect, as those of this package do. */
  readonly namesOffice?: boolean
}

/** The dialect of our Server and of plain Socket.IO in JavaScript. */
export const defaultDialect: Dialect = { path, version: "0.2.0", needsUniqueNames: false, sortsKeys: false }

const sortKeys = (_key: string, value: unknown): unknown =>
  value !== null && typeof value === "object" && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : value

/** The JSON text of a body after a server has forwarded it. */
export const forwarded = (json: string, { sortsKeys }: Dialect): string =>
  sortsKeys ? JSON.stringify(JSON.parse(json), sortKeys) : json
