import { Effect, FiberSet, type Scope } from "effect"
import { type ApprovalAnswer, fromInputAnswer } from "../../../domain/approvals/Approval.ts"
import { type ApprovalView, inputOf } from "../../../domain/approvals/ApprovalView.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import { type InputAnswer, inputModes, type InputRequest } from "../../../domain/model/InputRequest.ts"
import { answerOr, askUntilValid } from "../../shared/questions/askUntilValid.ts"
import { notifyListener, type OnCallStatus } from "../callStatuses.ts"
import type { RequestMethods } from "../officeRequests.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"

/** Answers what a call waits for. Each function is interrupted when another approver answers first, or the call ends. */
export interface CallAnswers {
  /**
   * Answers a question of the MCP server. Without it such questions are declined, unless the owner of the Computer or an
   * operator answers. After an invalid answer it is asked again, with the error at the start of the message. A failure
   * closes the question without an answer.
   */
  readonly onInput?: ((request: InputRequest) => Effect.Effect<InputAnswer, unknown>) | undefined
  /** The kinds of questions that `onInput` answers; all by default. */
  readonly inputModes?: ReadonlyArray<InputRequest["mode"]> | undefined
  /**
   * Decides about the call where its owner lets Agents decide. `undefined`, and a failure, leave the decision to other
   * approvers.
   */
  readonly onApproval?: ((approval: ApprovalView) => Effect.Effect<ApprovalAnswer | undefined, unknown>) | undefined
}

type Requests = Pick<RequestMethods, "getApprovals" | "decideApproval">

/** The field of a call that announces the kinds of questions that it answers. */
export const announcedModes = ({
  inputModes: modes = inputModes,
  onInput
}: CallAnswers): { readonly inputModes?: typeof inputModes } =>
  onInput === undefined || modes.length === 0 ? {} : { inputModes: modes }

/** Runs a function of the host; a missing one, and a failure, give `otherwise`. */
const runHook = <I, A>(hook: ((input: I) => Effect.Effect<A, unknown>) | undefined, input: I, otherwise: A) =>
  answerOr(
    Effect.suspend(() => hook?.(input) ?? Effect.succeed(otherwise)),
    otherwise,
    (cause) => Effect.logError("approval handler failed", cause)
  )

const answerOne = Effect.fnUntraced(function* (
  { decideApproval, getApprovals }: Requests,
  computer: ComputerName,
  id: string,
  { onApproval, onInput }: CallAnswers
) {
  const approval = (yield* getApprovals(computer, { approvalId: id })).find((one) => one.id === id)
  const input = approval && inputOf(approval)
  if (input !== undefined && onInput !== undefined) {
    yield* askUntilValid(
      input,
      (request) => runHook<InputRequest, InputAnswer>(onInput, request, { action: "cancel" }),
      (answer) => decideApproval(computer, id, fromInputAnswer(answer))
    )
  } else if (approval !== undefined && input === undefined) {
    const answer = yield* runHook(onApproval, approval, undefined)
    if (answer !== undefined) yield* decideApproval(computer, id, answer)
  }
})

/**
 * Answers what a call waits for, in the background, as its statuses tell. Gives the function that receives them, which
 * passes them on. Answers end with the scope.
 */
export const answerStatuses = Effect.fnUntraced(function* (
  requests: Requests,
  computer: ComputerName,
  { onStatus, ...answers }: CallAnswers & { readonly onStatus?: OnCallStatus | undefined }
): Effect.fn.Return<OnCallStatus, never, Scope.Scope> {
  if (answers.onInput === undefined && answers.onApproval === undefined) return onStatus ?? (() => Effect.void)
  // A call waits for one approval at a time.
  const current = yield* FiberSet.make<void>()
  const answer = (status: CallStatus): Effect.Effect<unknown> => {
    if (status._tag === "Decided") return FiberSet.clear(current)
    if (status._tag !== "WaitingForConsent" || status.approval === undefined) return Effect.void
    const { id, isQuestion = false } = status.approval
    if ((isQuestion ? answers.onInput : answers.onApproval) === undefined) return Effect.void
    const answering = Effect.catch(answerOne(requests, computer, id, answers), ({ message: reason }) =>
      // Another approver was faster, or the owner does not let Agents decide.
      Effect.logDebug("approval not answered", { computer, reason })
    )
    return Effect.andThen(FiberSet.clear(current), FiberSet.run(current, answering))
  }
  return (status) =>
    Effect.andThen(answer(status), onStatus === undefined ? Effect.void : notifyListener(onStatus, status))
})
