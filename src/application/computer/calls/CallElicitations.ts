import { Deferred, Duration, Effect, Semaphore } from "effect"
import { formatDecision, isElicitation, type Question } from "../../../domain/approvals/Approval.ts"
import { callerName, isInOffice } from "../../../domain/approvals/Caller.ts"
import type { CallPlace } from "../../../domain/approvals/standingApprovals.ts"
import {
  type InputAnswer,
  type InputRequest,
  inputModes,
  secretAnswers,
  toExactRequest
} from "../../../domain/model/InputRequest.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import type { InputResponder } from "../../ports/McpSession.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import type { Call } from "./Call.ts"
import { type ConsentParts, type AuditedDecision, auditedDecision } from "./CallConsent.ts"

/** Open elicitations of all calls. Further ones are declined. */
const maxOpenElicitations = 256

const declined: InputAnswer = { action: "decline" }

/** A call that runs, and its MCP server may ask its user. */
interface ElicitingCall {
  readonly call: Call
  readonly entry: CatalogueEntry
  /** The caller in this process, if it answers elicitations. */
  readonly responder: InputResponder | undefined
}

const makeElicitationRequest = Effect.fnUntraced(function* ({ approvals, computer }: ConsentParts) {
  const { approvers, onInput } = yield* ComputerSettings

  /** True when responders other than the calling Agent can answer. */
  const hasResponder = ({ call, responder }: ElicitingCall, mode: InputRequest["mode"]): boolean =>
    onInput !== undefined ||
    (isInOffice(call.caller) && approvers.includes("page")) ||
    responder?.modes.includes(mode) === true

  /** Waits for the answer of a responder; without an outcome when none of them learns of the elicitation. */
  const ask = Effect.fnUntraced(function* (
    eliciting: ElicitingCall,
    elicitation: InputRequest,
    place: CallPlace | undefined
  ) {
    const { call, entry, responder } = eliciting
    const { caller, params, reqId } = call
    const { extension: extended, limit } = call.awaitApproval("AnswerAwaited")
    const unreachable = yield* Deferred.make<undefined>()
    const announce = Effect.fnUntraced(function* ({ id }: { readonly id: string }) {
      const waitSeconds = Math.ceil(Duration.toSeconds(extended))
      const approval = { id, server: entry.server, tool: entry.tool.name, waitSeconds, isQuestion: true as const }
      const isExtended =
        waitSeconds > 0 &&
        (!isInOffice(caller) || (yield* call.announceWait({ _tag: "WaitingForConsent", computer, approval })))
      if (isExtended) call.dispatch({ _tag: "Extended" })
      // The Agent or the Server is of another implementation: the Agent does not know of the elicitation.
      else if (!hasResponder(eliciting, elicitation.mode)) yield* Deferred.succeed(unreachable, undefined)
      return isExtended
    })
    const local = responder && {
      by: callerName(caller),
      answer: ({ input }: Question) => responder.answer(input)
    }
    const asking = approvals.request(
      { reqId, caller, params, askedBy: "MCP server", entry, place, elicitation, responder: local },
      { limit, extended, announce }
    )
    return yield* Effect.ensuring(
      Effect.raceFirst(asking, Deferred.await(unreachable)),
      Effect.sync(() => call.dispatch({ _tag: "Answered" }))
    )
  })

  return {
    ask,
    canAnswer: (eliciting: ElicitingCall, mode: InputRequest["mode"]): boolean =>
      eliciting.call.inputModes?.includes(mode) === true || hasResponder(eliciting, mode)
  }
})

/** Makes the function that lets the responders of a call answer the elicitations of its MCP server. */
export const makeCallElicitations = Effect.fnUntraced(function* (parts: ConsentParts, secrets: Secrets) {
  const { approvals, audit, computer, currentOffice } = parts
  const { ask, canAnswer } = yield* makeElicitationRequest(parts)
  const isFull = () => approvals.open().filter(isElicitation).length >= maxOpenElicitations

  const answer = Effect.fnUntraced(function* (eliciting: ElicitingCall, request: InputRequest) {
    const { call, entry } = eliciting
    const tool = entry.tool.name
    const { places, request: exact } = toExactRequest(request)
    if (places.length > 0) yield* Effect.logWarning("rounded integers omitted from question", { tool, places })
    const input = { ...exact, message: secrets.redact(request.message) }
    const place = currentOffice()
    const record = (decision: AuditedDecision) =>
      audit(call, entry, place?.office, { ...decision, question: input.mode })
    if (isFull() || !canAnswer(eliciting, input.mode)) {
      const [reason, by] = isFull() ? ["too many open questions", "limit"] : ["no responder", "no responder"]
      yield* Effect.logInfo("question declined", { tool, reason })
      record({ action: "deny", by })
      return declined
    }
    const outcome = yield* Effect.onInterrupt(ask(eliciting, input, place), () =>
      Effect.sync(() => record({ action: "cancelled" }))
    )
    if (outcome === undefined) {
      record({ action: "deny", by: "no responder" })
      return declined
    }
    const { answer: accepted = declined, decision } = outcome
    for (const secret of secretAnswers(input, accepted)) secrets.add(secret)
    const by = "by" in decision ? decision.by : ""
    yield* call.report({ _tag: "Decided", computer, isAllowed: decision.state === "allowed", by, isQuestion: true })
    const agent = call.caller._tag === "Owner" ? undefined : callerName(call.caller)
    yield* Effect.logInfo("question decided", { tool, agent, decision: formatDecision(decision, { input }) })
    record(auditedDecision(outcome))
    return accepted
  })

  return (eliciting: ElicitingCall): InputResponder => {
    const turns = Semaphore.makeUnsafe(1)
    return {
      modes: inputModes,
      answer: (request) =>
        Effect.suspend(() =>
          eliciting.call.dispatch({ _tag: "Elicited" })?._tag === "Elicit"
            ? turns.withPermit(answer(eliciting, request))
            : Effect.succeed(declined)
        )
    }
  }
})
