import { mcpToolName } from "../../model/messages/mcpNames.ts"
import { formatDecided, formatServerNames } from "../../model/CallStatus.ts"
import type { PageCall } from "../PageEvent.ts"
import { escapeNonAscii, type JsonObject } from "../../json.ts"
import { flagWords, quoteForShell } from "../../text/quoteForShell.ts"

/** The phases of a call, as words in the list, the legend and the filter of calls. */
export const callPhases = ["waiting", "consent", "running", "done", "failed", "denied", "cancelled"] as const
export type CallPhase = (typeof callPhases)[number]

/** Why a call failed, by its outcome; the numbers are codes of the protocol, whose module the page does not load. */
const failures: { readonly [outcome: string]: string } = {
  cancelled: "the call was cancelled",
  tool_error: "the tool returned an error",
  4001: "the call did not run: the Computer does not have this tool",
  4002: "the call did not run: the tool is disabled",
  4003: "the Computer could not run the call",
  4005: "the call did not run: it was not approved"
}

/** True for a call of a tool. The other requests, such as for the list of tools, or to an MCP server, are housekeeping. */
export const isToolCall = ({ tool }: Pick<PageCall, "tool">): boolean => tool !== undefined && tool !== mcpToolName

/** `waiting`: for MCP servers that start; `consent`: for the consent of the user of the Computer. */
export const phaseOf = ({
  decision,
  endedAt,
  outcome,
  status
}: Pick<PageCall, "decision" | "endedAt" | "outcome" | "status">): CallPhase => {
  if (endedAt !== undefined || outcome !== undefined) {
    if (outcome === "ok") return "done"
    if (outcome === "cancelled") return "cancelled"
    return decision?.isAllowed === false || outcome === "4005" ? "denied" : "failed"
  }
  if (status?._tag === "WaitingForConsent") return "consent"
  return status?._tag === "WaitingForServers" ? "waiting" : "running"
}

/** Milliseconds from the start of a call to its end, or to now. Clocks of other nodes differ: never negative. */
export const durationOf = ({ endedAt, startedAt }: PageCall, now: number) => Math.max(0, (endedAt ?? now) - startedAt)

/** States why a call waits, or its progress; empty while nothing is reported. */
export const describeStatus = (status: PageCall["status"]): string => {
  switch (status?._tag) {
    case undefined:
      return ""
    case "WaitingForConsent":
      return status.approval?.isQuestion === true ? "waiting for an answer" : "waiting for consent"
    case "Decided":
      return formatDecided(status)
    case "WaitingForServers":
      return `waiting for servers that start: ${formatServerNames(status.servers)}`
    case "Progressing": {
      const { message = "", progress, total } = status
      return [`progress: ${progress}${total === undefined ? "" : ` of ${total}`}`, message]
        .filter((word) => word !== "")
        .join(", ")
    }
  }
}

/** States who denied a call, or why it failed; empty for other calls. `subject` is the operator of the page. */
export const describeFailure = (call: PageCall, subject = ""): string => {
  const { decision, outcome } = call
  if (decision?.isAllowed === false)
    return `${decision.by === `operator:${subject}` ? "you" : decision.by} denied this call`
  if (outcome === undefined || outcome === "ok") return ""
  return failures[outcome] ?? (/^\d/.test(outcome) ? `error ${outcome}` : outcome)
}

/**
 * The flags by which a command connects to the Server of the page: its URL, unless that is the default, and a token where the page
 * has a sign-in.
 */
export const connectionFlags = (url: string, requiresSignIn: boolean): ReadonlyArray<string> => [
  ...(url === "http://127.0.0.1:7070" ? [] : ["--server", url]),
  ...(requiresSignIn ? ["--token-file", "FILE"] : [])
]

/**
 * Formats the command that makes a call again, with the flags of the connection. Without `params` the arguments are missing: the
 * Server did not capture them.
 */
export const copyAsCommand = (
  { computer, line, office, tool = "" }: Pick<PageCall, "computer" | "line" | "office" | "tool">,
  connection: ReadonlyArray<string>,
  params?: JsonObject
): string => {
  const words = [
    "a2c",
    "agent",
    ...connection,
    ...flagWords("--office", office),
    ...flagWords("--protocol", line),
    "call",
    ...flagWords("--computer", computer),
    ...(tool.startsWith("-") ? ["--"] : []),
    tool,
    ...(params === undefined ? [] : [escapeNonAscii(JSON.stringify(params))])
  ]
  return words.map(quoteForShell).join(" ")
}
