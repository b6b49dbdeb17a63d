import { Effect, Match } from "effect"
import type { ApprovalView } from "../../domain/approvals/ApprovalView.ts"
import type { InputRequest } from "../../domain/model/InputRequest.ts"
import type { InputResponder, McpCallOptions } from "../ports/McpSession.ts"
import type { ToolCall } from "../agent/Agent.ts"
import { truncateQuote } from "../../domain/errorMessage.ts"
import { definedOnly } from "../../domain/objects.ts"
import { type CallStatus, formatDecided, formatServerNames } from "../../domain/model/CallStatus.ts"
import type { OnCallStatus } from "../agent/callStatuses.ts"

/** What a caller receives and answers during a call. */
export type CallHooks = Pick<ToolCall, "onStatus" | "onInput" | "inputModes" | "onApproval">

const describeStatus = Match.typeTags<Exclude<CallStatus, { readonly _tag: "Progressing" }>, string>()({
  WaitingForConsent: ({ approval, computer }) =>
    `waiting for ${approval?.isQuestion === true ? "the answer to a question of" : "an approval at"} ${computer}`,
  Decided: formatDecided,
  WaitingForServers: ({ computer, servers }) =>
    `waiting for MCP servers that start at ${computer}: ${formatServerNames(servers)}`
})

/** Makes MCP progress of the statuses of a call. A status without an amount repeats the last one. */
const makeStatusProgress = (onProgress: NonNullable<McpCallOptions["onProgress"]>): OnCallStatus => {
  let last = 0
  return (status) =>
    Effect.suspend(() => {
      if (status._tag !== "Progressing") return onProgress({ progress: last, message: describeStatus(status) })
      const { message, progress, total } = status
      last = progress
      return onProgress({ progress, ...definedOnly({ total, message }) })
    })
}

/** Characters of the arguments in the message of an approval. */
const maxArgumentsLength = 2000

/** An approval as a form: `decision` is `allow` or `deny`. Names are quoted, so that they cannot imitate other lines. */
const approvalForm = (approval: ApprovalView): InputRequest => {
  const { arguments: params, askedBy, change, computer, reason, tool } = approval
  const lines = [
    `The call of the tool ${JSON.stringify(tool)} on the Computer ${JSON.stringify(computer)} needs an approval.`,
    ...(change === undefined ? [] : ["The definition of the tool has changed since it was approved."]),
    `Asked by ${askedBy}${reason === undefined ? "" : `: ${JSON.stringify(reason)}`}`,
    `Arguments: ${truncateQuote(params, maxArgumentsLength)}`
  ]
  const decision = { type: "string", title: "Decision", enum: ["allow", "deny"] }
  const schema = { type: "object", properties: { decision }, required: ["decision"] }
  return { mode: "form", message: lines.join("\n"), schema }
}

/** Lets the client of a published office answer the questions of its calls, and decide about them. */
const answerAsHost = ({ answer, modes }: InputResponder): CallHooks => ({
  ...(modes.length > 0 && { onInput: answer, inputModes: modes }),
  ...(modes.includes("form") && {
    onApproval: (approval) =>
      Effect.map(answer(approvalForm(approval)), ({ action, ...given }) => {
        // A client that closes the form leaves the decision to other approvers.
        if (action === "cancel") return undefined
        const content = "content" in given ? given.content : undefined
        return content?.["decision"] === "allow" ? { action: "allow", scope: "once" } : { action: "deny" }
      })
  })
})

/** The hooks of a call for the client of a published office. */
export const toCallHooks = ({ onProgress, responder }: McpCallOptions): CallHooks => ({
  ...(onProgress !== undefined && { onStatus: makeStatusProgress(onProgress) }),
  ...(responder !== undefined && answerAsHost(responder))
})
