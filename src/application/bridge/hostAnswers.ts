import { Effect } from "effect"
import type { ApprovalView } from "../../domain/approvals/ApprovalView.ts"
import type { InputRequest } from "../../domain/model/InputRequest.ts"
import type { InputResponder } from "../ports/McpSession.ts"
import type { CallHooks } from "./officeTools.ts"

/** Characters of the arguments in the message of an approval. */
const maxArgumentsLength = 2000

const cut = (text: string): string =>
  text.length <= maxArgumentsLength ? text : `${text.slice(0, maxArgumentsLength).toWellFormed()}…`

/** An approval as a form: `decision` is `allow` or `deny`. Names are quoted, so that they cannot imitate other lines. */
const approvalForm = (approval: ApprovalView): InputRequest => {
  const { arguments: params, askedBy, change, computer, reason, tool } = approval
  const lines = [
    `The call of the tool ${JSON.stringify(tool)} on the Computer ${JSON.stringify(computer)} needs an approval.`,
    ...(change === undefined ? [] : ["The definition of the tool has changed since it was approved."]),
    `Asked by ${askedBy}${reason === undefined ? "" : `: ${JSON.stringify(reason)}`}`,
    `Arguments: ${cut(params)}`
  ]
  const decision = { type: "string", title: "Decision", enum: ["allow", "deny"] }
  const schema = { type: "object", properties: { decision }, required: ["decision"] }
  return { mode: "form", message: lines.join("\n"), schema }
}

/** Lets the client of a published office answer the questions of its calls, and decide about them. */
export const answerAsHost = ({ answer, modes }: InputResponder): CallHooks => ({
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
