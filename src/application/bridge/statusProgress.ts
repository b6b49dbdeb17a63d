import { Effect } from "effect"
import { definedOnly } from "../../domain/objects.ts"
import { type CallStatus, formatDecided, formatServerNames } from "../../domain/model/CallStatus.ts"
import type { OnCallStatus } from "../agent/callStatuses.ts"
import type { McpProgress } from "../ports/McpSession.ts"

const describeStatus = (status: Exclude<CallStatus, { readonly _tag: "Progressing" }>): string => {
  switch (status._tag) {
    case "WaitingForConsent":
      return status.approval?.isQuestion === true
        ? `waiting for the answer to a question of ${status.computer}`
        : `waiting for an approval at ${status.computer}`
    case "Decided":
      return formatDecided(status)
    case "WaitingForServers":
      return `waiting for MCP servers that start at ${status.computer}: ${formatServerNames(status.servers)}`
  }
}

/** Makes MCP progress of the statuses of a call. A status without an amount repeats the last one. */
export const makeStatusProgress = (onProgress: (progress: McpProgress) => Effect.Effect<void>): OnCallStatus => {
  let last = 0
  return (status) =>
    Effect.suspend(() => {
      if (status._tag !== "Progressing") return onProgress({ progress: last, message: describeStatus(status) })
      const { message, progress, total } = status
      last = progress
      return onProgress({ progress, ...definedOnly({ total, message }) })
    })
}
