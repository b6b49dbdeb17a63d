import { Result } from "effect"
import type { CallReport, CallStatus } from "../../model/CallStatus.ts"
import { definedOnly } from "../../objects.ts"
import { makeCodec } from "../../validation.ts"
import type { CallStatusDefinition } from "../ProtocolLine.ts"
import { CallStatusData, CallStatusHead } from "./messages.ts"

/**
 * A Computer's report why a call waits, which the Server forwards unchanged to the Agent of this call. Not part of the
 * protocol: a Server or an Agent that does not know it ignores it.
 */
export const callStatus: CallStatusDefinition = {
  kind: "callStatus",
  event: "server:update_tool_call",
  from: "computer",
  request: makeCodec(CallStatusHead),
  notification: "notify:update_tool_call"
}

const codec = makeCodec(CallStatusData)

export const encodeCallStatus = ({ reqId, status }: CallReport): unknown => {
  const { _tag, ...fields } = status
  switch (_tag) {
    case "WaitingForConsent":
      return codec.encode({ ...fields, reqId, status: "waiting_for_consent" })
    case "WaitingForServers":
      return codec.encode({ ...fields, reqId, status: "waiting_for_servers" })
    case "Progressing":
      return codec.encode({ ...fields, reqId, status: "progress" })
  }
}

const toStatus = (data: typeof CallStatusData.Type): CallStatus => {
  const { computer, message, progress = 0, servers = [], status, total } = data
  switch (status) {
    case "waiting_for_consent":
      return { _tag: "WaitingForConsent", computer }
    case "waiting_for_servers":
      return { _tag: "WaitingForServers", computer, servers }
    case "progress":
      return { _tag: "Progressing", computer, progress, ...definedOnly({ total, message }) }
  }
}

/** Decodes the status of a call; fails with the error in one line. */
export const decodeCallStatus = (body: unknown): Result.Result<CallReport, string> =>
  Result.map(codec.decode(body), (data) => ({ reqId: data.reqId, status: toStatus(data) }))
