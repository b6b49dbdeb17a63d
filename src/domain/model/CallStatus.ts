import type { ComputerName, RequestId } from "./ids.ts"
/** The state of a call that an Agent waits for. */
export type CallStatus =
  /** A person or a program must decide about the call; `approval` is missing where the Computer does not name it. */
  | { readonly _tag: "WaitingForConsent"; readonly computer: ComputerName; readonly approval?: AwaitedApproval }
  /** The call was allowed, or denied, by an approver; or a question answered, or declined. `by` is empty at its expiry. */
  | {
      readonly _tag: "Decided"
      readonly computer: ComputerName
      readonly isAllowed: boolean
      readonly by: string
      readonly isQuestion?: true
    }
  /** The tool is not known yet; `servers` are MCP servers of the Computer that start, the first ones of many. */
  | { readonly _tag: "WaitingForServers"; readonly computer: ComputerName; readonly servers: ReadonlyArray<string> }
  /** The tool runs; its MCP server reports its progress, in a unit that it chooses. */
  | {
      readonly _tag: "Progressing"
      readonly computer: ComputerName
      readonly progress: number
      readonly total?: number
      readonly message?: string
    }

/** The approval that a call waits for. Names are foreign text. */
export interface AwaitedApproval {
  readonly id: string
  /** The MCP server and the exposed name of the tool. */
  readonly server: string
  readonly tool: string
  /** How long the Computer waits at most. */
  readonly waitSeconds: number
  /** The call runs, and its MCP server asks the user a question. */
  readonly isQuestion?: true
}

/** The status of a call with its request id. */
export interface CallReport {
  readonly reqId: RequestId
  /** The name of the caller, whose ids of requests may equal those of another; missing where one caller is known. */
  readonly agent?: string
  readonly status: CallStatus
}

type Decided = Extract<CallStatus, { readonly _tag: "Decided" }>

/** True for a decision about the call itself. */
export const isConsent = (status: CallStatus): status is Decided =>
  status._tag === "Decided" && status.isQuestion !== true

/** Formats a decision: `allowed by operator:ann`. The name is foreign text. Of a question without an answer it does not tell why. */
export const formatDecided = ({ by, isAllowed, isQuestion }: Omit<Decided, "_tag" | "computer">): string => {
  if (isQuestion !== true) return `${isAllowed ? "allowed" : "denied"} by ${by}`
  if (by === "") return "no answer came in time"
  return `${isAllowed ? "answered" : "not answered: declined or closed"} by ${by}`
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

/** An MCP server that does not start, and the reason as an office may see it. */
export interface FailingServer {
  readonly name: string
  readonly reason: string
}

/** The length of the reason of a failing server in a message, in UTF-16 units. */
export const maxFailureLength = 512

/** Failing servers that fit into a message. */
export const truncateFailures = (servers: ReadonlyArray<FailingServer>): ReadonlyArray<FailingServer> =>
  servers.slice(0, maxServerNames).map(({ name, reason }) => ({
    name: name.slice(0, maxServerNameLength).toWellFormed(),
    reason: reason.slice(0, maxFailureLength).toWellFormed()
  }))

/** The end of a message about a missing tool, which servers that do not start may have; empty without any. */
export const formatFailures = (servers: ReadonlyArray<FailingServer>): string =>
  servers.map(({ name, reason }) => `. The MCP server ${name}, which may have it, is failing: ${reason}`).join("")

/** Formats server names as a list, which does not end when there may be more. */
export const formatServerNames = (names: ReadonlyArray<string>): string =>
  [...truncateServerNames(names), ...(names.length < maxServerNames ? [] : ["…"])].join(", ")
