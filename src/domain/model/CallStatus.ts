/** The state of a call that an Agent waits for. */
export type CallStatus =
  | { readonly _tag: "WaitingForConsent"; readonly computer: string }
  /** The tool is not known yet; `servers` are MCP servers of the Computer that start, the first ones of many. */
  | { readonly _tag: "WaitingForServers"; readonly computer: string; readonly servers: ReadonlyArray<string> }
  /** The tool runs; its MCP server reports its progress, in a unit that it chooses. */
  | {
      readonly _tag: "Progressing"
      readonly computer: string
      readonly progress: number
      readonly total?: number
      readonly message?: string
    }

/** The status of a call with its request id. */
export interface CallReport {
  readonly reqId: string
  readonly status: CallStatus
}

/** Server names in a message. */
export const maxServerNames = 20

/** The length of a server name in a message, in UTF-16 units. */
export const maxServerNameLength = 256

/** The length of a progress message, in UTF-16 units. */
export const maxProgressMessageLength = 256

/** Server names that fit into a message. */
export const truncateServerNames = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.slice(0, maxServerNames).map((name) => name.slice(0, maxServerNameLength).toWellFormed())

/** Formats server names as a list, which does not end when there may be more. */
export const formatServerNames = (names: ReadonlyArray<string>): string =>
  [...truncateServerNames(names), ...(names.length < maxServerNames ? [] : ["…"])].join(", ")
