import { Match, Result } from "effect"
import type { CallReport, CallStatus } from "../../model/CallStatus.ts"
import { maxIdentifierLength } from "../../model/fields.ts"
import { definedOnly } from "../../objects.ts"
import { makeCodec } from "../../validation.ts"
import { CallStatusData, CallStatusHead, WaitAck } from "./messages.ts"

/**
 * A Computer's report why a call waits, which the Server forwards unchanged to the Agent of this call. Not part of the
 * protocol: a Server or an Agent that does not know it ignores it.
 */
export const callStatus = {
  kind: "callStatus",
  event: "server:update_tool_call",
  from: "computer",
  /** The Server decodes only the call and its wait. Later kinds of status pass through. */
  request: makeCodec(CallStatusHead),
  notification: "notify:update_tool_call",
  /** The acknowledgement of a status with `waitSeconds`. */
  waitAck: makeCodec(WaitAck)
} as const

const codec = makeCodec(CallStatusData)

const truncate = (text: string): string => text.slice(0, maxIdentifierLength).toWellFormed()

/** The fields of a status in its message. */
const toFields = Match.typeTags<CallStatus, Omit<typeof CallStatusData.Type, "reqId" | "computer">>()({
  WaitingForConsent: ({ approval }) => ({
    status: "waiting_for_consent",
    ...(approval && {
      approvalId: approval.id,
      mcpServer: truncate(approval.server),
      toolName: truncate(approval.tool),
      waitSeconds: approval.waitSeconds,
      ...definedOnly({ question: approval.isQuestion })
    })
  }),
  Decided: ({ by, isAllowed: allowed, isQuestion: question }) => ({
    status: "decided",
    allowed,
    decidedBy: truncate(by),
    ...definedOnly({ question })
  }),
  WaitingForServers: ({ servers }) => ({ status: "waiting_for_servers", servers }),
  Progressing: ({ _tag, computer: _, ...fields }) => ({ status: "progress", ...fields })
})

export const encodeCallStatus = ({ agent, reqId, status }: CallReport): unknown =>
  codec.encode({ computer: status.computer, reqId, ...definedOnly({ agent }), ...toFields(status) })

const toStatus = (data: typeof CallStatusData.Type): CallStatus => {
  const { computer, message, progress = 0, servers = [], status, total } = data
  const kind = data.question === true ? ({ isQuestion: true } as const) : {}
  switch (status) {
    case "waiting_for_consent": {
      const { approvalId: id, mcpServer: server = "", toolName: tool = "", waitSeconds } = data
      if (id === undefined || waitSeconds === undefined) return { _tag: "WaitingForConsent", computer }
      return { _tag: "WaitingForConsent", computer, approval: { id, server, tool, waitSeconds, ...kind } }
    }
    case "decided":
      return { _tag: "Decided", computer, isAllowed: data.allowed === true, by: data.decidedBy ?? "", ...kind }
    case "waiting_for_servers":
      return { _tag: "WaitingForServers", computer, servers }
    case "progress":
      return { _tag: "Progressing", computer, progress, ...definedOnly({ total, message }) }
  }
}

/** Decodes the status of a call; fails with the error in one line. */
export const decodeCallStatus = (body: unknown): Result.Result<CallReport, string> =>
  Result.map(codec.decode(body), (data) => ({ reqId: data.reqId, status: toStatus(data) }))
