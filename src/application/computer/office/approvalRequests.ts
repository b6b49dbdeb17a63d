import { Clock, Effect } from "effect"
import { type Approval, isElicitation } from "../../../domain/approvals/Approval.ts"
import { maxListedApprovals, toAnswer, toApprovalView } from "../../../domain/approvals/ApprovalView.ts"
import { isSameCaller, type OfficeCaller } from "../../../domain/approvals/Caller.ts"
import { forbidden, notFound } from "../../../domain/model/ProtocolError.ts"
import type { CallRequest } from "../../../domain/wire/calls.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { OperatorHandlers } from "./operatorAccess.ts"
import type { CallTasks } from "../calls/CallTasks.ts"
import type { Approvals } from "../approvals/Approvals.ts"

/** An Agent may always answer the questions of its calls: they are for the caller, and consent is the owner's. */
const notAllowed = () => forbidden("This Computer does not let Agents decide about their calls (--approvers agent)")

/** Serves the requests of Agents and operators that decide about calls, as far as the owner of the Computer allows it. */
export const makeApprovalRequests = Effect.fnUntraced(function* (
  { decide, find, open }: Approvals,
  tasks: Pick<CallTasks, "isHeldBy">
) {
  const { approvers } = yield* ComputerSettings
  const isAllowed = (approver: (typeof approvers)[number]) => approvers.includes(approver)
  const isOwn = (asked: Approval, caller: OfficeCaller): boolean =>
    isSameCaller(asked.caller, caller) || tasks.isHeldBy(caller, asked)

  /** The approval after a decision, or as it is, for an operator or a caller. */
  const show = Effect.fnUntraced(function* (id: string, kind: "list" | "one" = "one", caller?: OfficeCaller) {
    const found = find(id)
    if (found === undefined) return yield* notFound("The approval is not known any more")
    const { approval, decision } = found
    const { previousCaller: before, previousParams: _, ...others } = approval
    const isShown = caller === undefined || (before !== undefined && isSameCaller(before, caller))
    return toApprovalView(isShown ? approval : others, decision, yield* Clock.currentTimeMillis, kind)
  })

  const operatorHandlers: OperatorHandlers = {
    getApproval: ({ id }) => Effect.all([show(id), show(id, "list")]),
    decideApproval: ({ by, id, ...answer }) =>
      Effect.flatMap(decide(id, toAnswer(answer), { _tag: "page", name: by }), () => Effect.all([show(id, "list")]))
  }

  return {
    /** Agents may decide about their calls, beside the questions of MCP servers. */
    agentsDecide: isAllowed("agent"),
    /** The open approvals of the calls of a caller, or all of one. */
    list: Effect.fnUntraced(function* ({ approvalId, reqId }: CallRequest<"getApprovals">, caller: OfficeCaller) {
      const own = open().filter((one) => isOwn(one, caller) && (approvalId ?? one.id) === one.id)
      const shown = isAllowed("agent") ? own : own.filter(isElicitation)
      if (!isAllowed("agent") && shown.length === 0) return yield* notAllowed()
      const kind = approvalId === undefined ? "list" : "one"
      const listed = shown.slice(0, maxListedApprovals)
      return { reqId, approvals: yield* Effect.forEach(listed, ({ id }) => show(id, kind, caller)) }
    }),
    decide: Effect.fnUntraced(function* (request: CallRequest<"decideApproval">, caller: OfficeCaller) {
      const { approvalId, reqId, ...answer } = request
      const found = find(approvalId)?.approval
      if (!isAllowed("agent") && found?.input === undefined) return yield* notAllowed()
      if (found === undefined || !isOwn(found, caller)) return yield* notFound("No call of this Agent waits for it")
      yield* decide(approvalId, toAnswer(answer), { _tag: "agent", caller })
      return { reqId, approval: yield* show(approvalId, "list", caller) }
    }),
    /** None where operators may not decide. */
    operatorHandlers: isAllowed("page") ? operatorHandlers : {}
  }
})
