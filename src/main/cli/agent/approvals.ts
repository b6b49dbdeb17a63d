import { Clock, Effect, Result } from "effect"
import { Agent } from "../../../application/agent/Agent.ts"
import type { ApprovalAnswer } from "../../../domain/approvals/Approval.ts"
import type { ApprovalView } from "../../../domain/approvals/ApprovalView.ts"
import { errorCodes } from "../../../domain/model/ProtocolError.ts"
import { parseApprovalEnd } from "../arguments/approvalEnd.ts"
import { failCommand } from "../CommandFailed.ts"
import { formatApproval, formatTimeLeft } from "../output/approvalText.ts"
import { formatColumns, truncateLine } from "../output/format.ts"
import { printLine, printResult } from "../output/print.ts"
import { forEachComputer, runAsAgent } from "./actions.ts"
import type * as flags from "./flags.ts"

/** The calls that wait at the Computers whose owners let Agents decide. */
const openApprovals = (options: flags.ComputerOptions) =>
  Effect.map(
    forEachComputer(options, (computer, { getApprovals }) =>
      Effect.catchIf(
        getApprovals(computer),
        (error) => error._tag === "ProtocolError" && error.code === errorCodes.forbidden,
        () => Effect.succeed<ReadonlyArray<ApprovalView>>([])
      )
    ),
    (found) => found.flat()
  )

const rowOf = ({ arguments: params, change, computer, expiresIn, id, tool }: ApprovalView): ReadonlyArray<string> => [
  id.slice(0, 8),
  computer,
  tool,
  formatTimeLeft(expiresIn),
  change === undefined ? "" : "tool has changed",
  truncateLine(params.replace(/\s+/g, " "))
]

const listApprovals = Effect.fnUntraced(function* (options: flags.ApprovalsOptions) {
  const approvals = yield* openApprovals(options)
  const text =
    approvals.length === 0 ? "no call of this Agent waits for an approval" : formatColumns(approvals.map(rowOf))
  yield* printResult(options, approvals, text)
})

const findOpen = Effect.fnUntraced(function* (options: flags.ApprovalsOptions, given: string) {
  const [approval, ...others] = (yield* openApprovals(options)).filter(({ id }) => id.startsWith(given))
  if (approval !== undefined && others.length === 0) return approval
  return yield* failCommand(`No call of this Agent waits for an approval with the id '${given}'`)
})

const decide = Effect.fnUntraced(function* (options: flags.ApprovalsOptions, given: string, answer: ApprovalAnswer) {
  const approval = yield* findOpen(options, given)
  const agent = yield* Agent
  const decided = yield* agent.decideApproval(approval.computer, approval.id, answer)
  if (options.json) return yield* printResult(options, decided, "")
  yield* printLine(`${decided.tool}: ${decided.state} by ${decided.decidedBy ?? ""}`)
})

/** Lists the calls that wait for an approval, shows one, or decides about one. */
export const manageApprovals = Effect.fnUntraced(function* (options: flags.ApprovalsOptions) {
  const { action, id = "", words } = options
  if (action === "list") return yield* listApprovals(options)
  if (id === "") return yield* failCommand(`approvals ${action} needs the ID of an approval`)
  if (action === "show") {
    const approval = yield* findOpen(options, id)
    return yield* printResult(options, approval, formatApproval(approval))
  }
  if (action === "deny") {
    const reason = words.join(" ")
    return yield* decide(options, id, { action, ...(reason !== "" && { reason }) })
  }
  const answer = parseApprovalEnd(words[0], yield* Clock.currentTimeMillis)
  if (Result.isFailure(answer)) return yield* failCommand(answer.failure)
  return yield* decide(options, id, answer.success)
}, runAsAgent)
