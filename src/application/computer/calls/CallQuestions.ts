import { Clock, Deferred, Duration, Effect, Semaphore } from "effect"
import { formatDecision } from "../../../domain/approvals/Approval.ts"
import type { CallPlace } from "../../../domain/approvals/standingApprovals.ts"
import { callerName, isInOffice } from "../../../domain/approvals/Caller.ts"
import {
  type InputAnswer,
  type InputRequest,
  inputModes,
  secretAnswers,
  toExactRequest
} from "../../../domain/model/InputRequest.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { type InputResponder, type McpCallOptions } from "../../ports/McpSession.ts"
import { maxExtension } from "../../ports/Transport.ts"
import type { Approvals } from "../approvals/Approvals.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { Secrets } from "../inputs/Secrets.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import { type Call, reportOf, timeAfterWait } from "./Call.ts"
import { auditedDecision, makeDecisionAudit } from "./decisionAudit.ts"
import type { ExecutionTimer } from "./executionTimer.ts"

/** Questions of one call, which are asked one after the other. Further ones are declined. */
const maxQuestions = 32

/** Open questions of all calls. Further ones are declined. */
const maxOpenQuestions = 256

const declined: InputAnswer = { action: "decline" }

/** A call that runs, and may ask. */
export interface AskingCall {
  readonly call: Call
  readonly entry: CatalogueEntry
  readonly timer: ExecutionTimer
  /** By which an approval extended the call already. */
  readonly extendedBy: Duration.Duration
  /** The caller in this process, if it answers questions. */
  readonly responder: McpCallOptions["responder"]
}

/** Makes the function that lets the responders of a call answer the questions of its MCP server. */
export const makeCallQuestions = Effect.fnUntraced(function* (
  computer: string,
  servers: Pick<ServerSupervisor, "find">,
  approvals: Pick<Approvals, "requestAnswer" | "open">,
  currentOffice: () => CallPlace | undefined,
  secrets: Secrets
) {
  const { approvalTimeout, approvers, onInput } = yield* ComputerSettings
  const auditDecision = yield* makeDecisionAudit(computer)

  /** Tells the caller of a question. True when it waits until the question is answered. */
  const announce = (call: Call, { server, tool }: CatalogueEntry, id: string, limit: Duration.Duration) => {
    const waitSeconds = Math.ceil(Duration.toSeconds(limit))
    const approval = { id, server, tool: tool.name, waitSeconds, isQuestion: true as const }
    return call.reporter.announceWait(reportOf(call, { _tag: "WaitingForConsent", computer, approval }))
  }

  const makeAnswer = ({ call, entry, extendedBy, responder, timer }: AskingCall): InputResponder["answer"] => {
    const { caller, params, reqId } = call
    const isLocal = !isInOffice(caller)
    const local = responder && {
      by: callerName(caller),
      answer: ({ input }: { input: InputRequest }) => responder.answer(input)
    }
    const turns = Semaphore.makeUnsafe(1)
    let asked = 0
    let waitedMillis = Duration.toMillis(extendedBy)

    const isAnswerable = (mode: InputRequest["mode"]) => ({
      byOthers:
        onInput !== undefined || (!isLocal && approvers.includes("page")) || responder?.modes.includes(mode) === true,
      byAgent: call.inputModes?.includes(mode) === true
    })

    const ask = Effect.fnUntraced(function* (given: InputRequest) {
      const { places, request } = toExactRequest(given)
      if (places.length > 0) {
        yield* Effect.logWarning("rounded integers omitted from question", { tool: entry.tool.name, places })
      }
      const input = { ...request, message: secrets.redact(given.message) }
      const { byAgent, byOthers } = isAnswerable(input.mode)
      const place = currentOffice()
      const audit = (decision: Parameters<typeof auditDecision>[3]) =>
        auditDecision(call, entry, place?.office, { ...decision, question: input.mode })
      const isFull = approvals.open().filter((one) => one.input !== undefined).length >= maxOpenQuestions
      if (isFull || !(byAgent || byOthers)) {
        yield* Effect.logInfo("question declined", {
          tool: entry.tool.name,
          reason: isFull ? "too many open questions" : "no responder"
        })
        audit({ action: "deny", by: isFull ? "limit" : "no responder" })
        return declined
      }
      const since = yield* Clock.currentTimeMillis
      const left = yield* timer.remaining
      const extended = Duration.min(approvalTimeout, Duration.subtract(maxExtension, Duration.millis(waitedMillis)))
      const unreachable = yield* Deferred.make<undefined>()
      const asking = approvals.requestAnswer(
        {
          reqId,
          caller,
          params,
          entry,
          config: servers.find(entry.server)?.config,
          place,
          elicitation: input,
          responder: local
        },
        {
          limit: Duration.subtract(left, timeAfterWait(left)),
          extended,
          announce: Effect.fnUntraced(function* ({ id }) {
            const isExtended =
              Duration.toMillis(extended) > 0 && (isLocal || (yield* announce(call, entry, id, extended)))
            if (isExtended) timer.pause(since)
            // The Agent or the Server is of another implementation: the Agent does not know of the question.
            else if (!byOthers) yield* Deferred.succeed(unreachable, undefined)
            return isExtended
          })
        }
      )
      const answered = yield* Effect.raceFirst(asking, Deferred.await(unreachable)).pipe(
        Effect.onInterrupt(() => Effect.sync(() => audit({ action: "cancelled" }))),
        Effect.ensuring(timer.resume)
      )
      waitedMillis += (yield* Clock.currentTimeMillis) - since
      if (answered === undefined) {
        audit({ action: "deny", by: "no responder" })
        return declined
      }
      const { answer, decision } = answered
      for (const secret of secretAnswers(input, answer)) secrets.add(secret)
      const isAllowed = decision.state === "allowed"
      const by = "by" in decision ? decision.by : ""
      const status = { _tag: "Decided", computer, isAllowed, by, isQuestion: true } as const
      if (!isLocal) yield* call.reporter.report(reportOf(call, status))
      yield* Effect.logInfo("question decided", {
        tool: entry.tool.name,
        agent: caller._tag === "Owner" ? undefined : callerName(caller),
        decision: formatDecision(decision, { input })
      })
      audit(auditedDecision(decision))
      return answer
    })

    return (request) =>
      Effect.suspend(() => {
        asked++
        return asked > maxQuestions ? Effect.succeed(declined) : turns.withPermit(ask(request))
      })
  }

  return (asking: AskingCall): InputResponder => {
    // Most calls ask nothing.
    let answer: InputResponder["answer"] | undefined
    return {
      modes: inputModes,
      answer: (request) =>
        Effect.suspend(() => {
          answer ??= makeAnswer(asking)
          return answer(request)
        })
    }
  }
})
