import { Result } from "effect"
import type { CallReport } from "../../model/CallStatus.ts"
import { makeCodec } from "../../validation.ts"
import { CallStatusData, CallStatusHead } from "./messages.ts"

/**
 * A Computer's report why a call waits, which the Server forwards unchanged to the Agent of this call. Not part of the
 * protocol: a Server or an Agent that does not know it ignores it.
 */
export const callStatus = {
  kind: "callStatus",
  event: "server:update_tool_call",
  from: "computer",
  /** The Server decodes only the call. Later kinds of status pass through. */
  request: makeCodec(CallStatusHead),
  notification: "notify:update_tool_call"
} as const

const codec = makeCodec(CallStatusData)

export const encodeCallStatus = ({ reqId, status }: CallReport): unknown => {
  const { computer } = status
  return status._tag === "WaitingForConsent"
    ? codec.encode({ computer, reqId, status: "waiting_for_consent" })
    : codec.encode({ computer, reqId, status: "waiting_for_servers", servers: status.servers })
}

/** Decodes the status of a call; fails with the error in one line. */
export const decodeCallStatus = (body: unknown): Result.Result<CallReport, string> =>
  Result.map(codec.decode(body), ({ computer, reqId, servers = [], status }) => ({
    reqId,
    status:
      status === "waiting_for_consent"
        ? { _tag: "WaitingForConsent", computer }
        : { _tag: "WaitingForServers", computer, servers }
  }))
