import { Duration, Effect, Option } from "effect"
import { type Approval, type ApprovalDecision, formatDecision } from "../../../domain/approvals/Approval.ts"
import type { CallPlace } from "../../../domain/approvals/grants.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { type Caller, callerName, isInOffice, type OfficeCaller } from "../../../domain/approvals/Caller.ts"
import type { CallStatus } from "../../../domain/model/CallStatus.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import type { PolicyDecision } from "../../../domain/policy/Rule.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { confirmationRequired, toolDisabled } from "../../../domain/tools/errorResults.ts"
import { defaultLineName } from "../../../domain/wire/lines.ts"
import { startCountdown } from "../../shared/startCountdown.ts"
import type { Approvals } from "../approvals/Approvals.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import { type Call, reportOf, timeAfterWait } from "./Call.ts"
import { isSuccess, makeCallPolicy } from "./CallPolicy.ts"
import { reportDelay } from "./CallReporter.ts"
import { type AuditedDecision, auditedDecision, makeDecisionAudit } from "./decisionAudit.ts"

/** A call to explain. */
export interface ExplainRequest {
  /** The exposed name of the tool. */
  readonly tool: string
  readonly params: JsonObject
  /** The name of the caller. */
  readonly subject: string
  /** The office of the Computer by default. */
  readonly office?: string | undefined
  /** The protocol line of this office; that of the Computer by default. */
  readonly line?: string | undefined
}

const denialOf = (decision: ApprovalDecision, tool: string): ToolResult | undefined => {
  switch (decision.state) {
    case "allowed":
      return undefined
    case "denied":
      return confirmationRequired(
        `Tool '${tool}' was not confirmed${decision.reason === undefined ? "" : `: ${decision.reason}`}`
      )
    case "expired":
    case "cancelled":
      return confirmationRequired(`Tool '${tool}' was not confirmed in time`)
  }
}

/** Obtains consent to calls: from the policy and standing consent, or else from an approver. Audits every decision. */
export const makeCallConsent = Effect.fnUntraced(function* (
  computer: string,
  servers: ServerSupervisor,
  approvals: Approvals,
  placeNow: () => CallPlace | undefined
) {
  const { approvalTimeout } = yield* ComputerSettings
  const configOf = (server: string) => servers.find(server)?.config
  const policy = yield* makeCallPolicy(computer, approvals, configOf)
  const auditDecision = yield* makeDecisionAudit(computer)
  const digestOf = (entry: CatalogueEntry) => approvals.digestOf(entry, configOf(entry.server))
  /** True while the tool is as it was with this digest. */
  const isUnchanged = (tool: string, digest: string): boolean => {
    const current = servers.snapshot().catalogue.entries.get(tool)
    return current !== undefined && digestOf(current) === digest
  }

  /** Announces that a call waits for an approval. */
  const announceApproval = (call: Call, { id, server, tool }: Approval): Effect.Effect<boolean> => {
    const waitSeconds = Math.ceil(Duration.toSeconds(approvalTimeout))
    const status: CallStatus = { _tag: "WaitingForConsent", computer, approval: { id, server, tool, waitSeconds } }
    return call.reporter.announceWait(reportOf(call, status))
  }

  /** Waits for the decision of an approver. `isExtended` tells whether the wait is no part of the execution time. */
  const askApprovers = Effect.fnUntraced(function* (
    call: Call,
    entry: CatalogueEntry,
    { by: askedBy, reason }: PolicyDecision,
    place: CallPlace | undefined,
    left: Duration.Duration
  ) {
    const { caller, params, reqId } = call
    let isAnnounced = false
    let isExtended = false
    const decision = yield* approvals.request(
      { reqId, caller, params, askedBy, reason, entry, config: configOf(entry.server), place },
      {
        limit: Duration.subtract(left, timeAfterWait(left)),
        announce: Effect.fnUntraced(function* (approval) {
          if (!isInOffice(caller)) return true
          yield* Effect.sleep(reportDelay)
          // The Agent may know of the wait, and an approver decide, before the Server acknowledges the announcement.
          isAnnounced = true
          isExtended = yield* announceApproval(call, approval)
          return isExtended
        })
      }
    )
    if (isAnnounced && (decision.state === "allowed" || decision.state === "denied")) {
      const { by, state } = decision
      yield* call.reporter.report(reportOf(call, { _tag: "Decided", computer, isAllowed: state === "allowed", by }))
    }
    return { decision, isExtended }
  })

  const notExtended = Duration.zero

  /**
   * Lets a call run, or gives the result in its place as `denial`; with the execution time that is left, and the time by
   * which the caller waits longer at most.
   */
  const obtain = Effect.fnUntraced(function* (
    call: Call,
    entry: CatalogueEntry,
    remaining: Effect.Effect<Duration.Duration>
  ) {
    const { caller, params, toolName: tool } = call
    const agent = callerName(caller)
    const place = placeNow()
    const audit = (decision: AuditedDecision) => auditDecision(call, entry, place?.office, decision)
    if (caller._tag === "Owner") {
      audit({ action: "allow", by: "owner" })
      return { denial: undefined, remaining, extendedBy: notExtended }
    }
    const digest = digestOf(entry)
    /** A decision covers the tool as it was decided about. */
    const changed = () => (isUnchanged(tool, digest) ? undefined : toolDisabled(tool))
    const deciding = policy.decide(entry, { caller, place, params })
    const decided = isSuccess(deciding)
      ? Option.some(deciding.value)
      : yield* Effect.timeoutOption(deciding, yield* remaining)
    if (Option.isNone(decided)) {
      return {
        denial: confirmationRequired(`Tool '${tool}' was not confirmed in time`),
        remaining,
        extendedBy: notExtended
      }
    }
    const { action, by, reason } = decided.value
    if (action !== "ask") audit({ action, by, reason })
    if (action === "allow") return { denial: changed(), remaining, extendedBy: notExtended }
    if (action === "deny") {
      yield* Effect.logInfo("call denied by the policy", { tool, agent, by, reason })
      const text = `Tool '${tool}' was denied by this Computer${reason === undefined ? "" : `: ${reason}`}`
      return { denial: confirmationRequired(text), remaining, extendedBy: notExtended }
    }
    if (!approvals.canAsk) {
      audit({ action: "deny", by: "no approver" })
      const text =
        `Tool '${tool}' needs confirmation and this Computer cannot ask for it. ` +
        "Its owner can approve it (auto_apply, --approve, --policy, --approvers)."
      return { denial: confirmationRequired(text), remaining, extendedBy: notExtended }
    }
    const left = yield* remaining
    const asking = Effect.onInterrupt(askApprovers(call, entry, decided.value, place, left), () =>
      Effect.sync(() => audit({ action: "cancelled" }))
    )
    const { decision, isExtended } = yield* asking
    yield* Effect.logInfo("call decided", { tool, agent, decision: formatDecision(decision) })
    audit(auditedDecision(decision))
    return {
      denial: denialOf(decision, tool) ?? changed(),
      remaining: isExtended ? yield* startCountdown(left) : remaining,
      extendedBy: isExtended ? approvalTimeout : notExtended
    }
  })

  return {
    obtain,
    digestOf,
    isUnchanged,
    /** Tells how a call of this caller is decided; `undefined` for an unknown tool. */
    explain: ({ line, office, params, subject, tool }: ExplainRequest, inOffice: OfficeCaller) =>
      Effect.suspend(() => {
        const current = placeNow()
        const place = office === undefined ? current : { office, line: line ?? current?.line ?? defaultLineName }
        const entry = servers.snapshot().catalogue.entries.get(tool)
        const caller: Caller = place === undefined ? { _tag: "Local", name: subject } : inOffice
        return entry === undefined ? Effect.succeed(undefined) : policy.explain(entry, { caller, place, params })
      })
  }
})
