import { Duration, Effect, Option } from "effect"
import { type Approval, type ApprovalDecision, formatDecision } from "../../../domain/approvals/Approval.ts"
import type { CallPlace } from "../../../domain/approvals/standingApprovals.ts"
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
  currentOffice: () => CallPlace | undefined
) {
  const { approvalTimeout } = yield* ComputerSettings
  const configOf = (server: string) => servers.find(server)?.config
  const policy = yield* makeCallPolicy(computer, approvals, configOf)
  const auditDecision = yield* makeDecisionAudit(computer)
  const digestOf = (entry: CatalogueEntry) => approvals.digestOf(entry, configOf(entry.server))
  const isGone = (tool: string): boolean => !servers.snapshot().catalogue.entries.has(tool)

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

  /** The result of a call that the policy denies. */
  const denyByPolicy = (
    { caller, toolName: tool }: Call,
    { by, reason }: PolicyDecision
  ): Effect.Effect<ToolResult> => {
    const text = `Tool '${tool}' was denied by this Computer${reason === undefined ? "" : `: ${reason}`}`
    const fields = { tool, agent: callerName(caller), by, reason }
    return Effect.as(Effect.logInfo("call denied by the policy", fields), confirmationRequired(text))
  }

  /**
   * Lets a call run, or gives the result in its place as `denial`; with the execution time that is left, and the time by
   * which the caller waits longer at most. `denialNow` is the denial by a policy that has changed since.
   */
  const requireConsent = Effect.fnUntraced(function* (
    call: Call,
    entry: CatalogueEntry,
    remaining: Effect.Effect<Duration.Duration>
  ) {
    const { caller, params, toolName: tool } = call
    const place = currentOffice()
    const audit = (decision: AuditedDecision) => auditDecision(call, entry, place?.office, decision)
    const end = (
      denial: ToolResult | undefined,
      denialNow: Effect.Effect<ToolResult | undefined> = Effect.undefined
    ) => ({
      denial,
      denialNow,
      remaining,
      extendedBy: notExtended
    })
    if (caller._tag === "Owner") {
      audit({ action: "allow", by: "owner" })
      return end(undefined)
    }
    const digest = digestOf(entry)
    /** A decision covers the tool as it was decided about. One that is gone may be back soon: its server may restart. */
    const changed = () => (isGone(tool) || isUnchanged(tool, digest) ? undefined : toolDisabled(tool))
    const revision = policy.revision()
    const deciding = policy.decide(entry, { caller, place, params })
    const decided = isSuccess(deciding)
      ? Option.some(deciding.value)
      : yield* Effect.timeoutOption(deciding, yield* remaining)
    const late = () => confirmationRequired(`Tool '${tool}' was not confirmed in time`)
    if (Option.isNone(decided)) return end(late())
    const denialNow = Effect.suspend(() => {
      if (policy.revision() === revision) return Effect.undefined
      return Effect.flatMap(policy.decide(entry, { caller, place, params }), ({ action, by, reason }) => {
        if (action !== "deny") return Effect.undefined
        audit({ action, by, reason })
        return denyByPolicy(call, { action, by, reason })
      })
    })
    const { action, by, reason } = decided.value
    if (action !== "ask") audit({ action, by, reason })
    if (action === "allow") return end(changed(), denialNow)
    if (action === "deny") return end(yield* denyByPolicy(call, decided.value))
    if (!approvals.canAsk) {
      audit({ action: "deny", by: "no approver" })
      const text =
        `Tool '${tool}' needs confirmation and this Computer cannot ask for it. ` +
        "Its owner can approve it (auto_apply, --approve, --policy, --approvers)."
      return end(confirmationRequired(text))
    }
    const left = yield* remaining
    const asking = Effect.onInterrupt(askApprovers(call, entry, decided.value, place, left), () =>
      Effect.sync(() => audit({ action: "cancelled" }))
    )
    const { decision, isExtended } = yield* asking
    yield* Effect.logInfo("call decided", { tool, agent: callerName(caller), decision: formatDecision(decision) })
    audit(auditedDecision(decision))
    const remainingAfter = isExtended ? yield* startCountdown(left) : remaining
    const denied = denialOf(decision, tool) ?? changed()
    const later = denied === undefined ? yield* Effect.timeoutOption(denialNow, yield* remainingAfter) : Option.none()
    return {
      denial: denied ?? Option.getOrElse(later, late),
      denialNow,
      remaining: remainingAfter,
      extendedBy: isExtended ? approvalTimeout : notExtended
    }
  })

  return {
    requireConsent,
    digestOf,
    isUnchanged,
    /** Tells how a call of this caller is decided; `undefined` for an unknown tool. */
    explain: ({ line, office, params, subject, tool }: ExplainRequest, inOffice: OfficeCaller) =>
      Effect.suspend(() => {
        const current = currentOffice()
        const place = office === undefined ? current : { office, line: line ?? current?.line ?? defaultLineName }
        const entry = servers.snapshot().catalogue.entries.get(tool)
        const caller: Caller = place === undefined ? { _tag: "Local", name: subject } : inOffice
        return entry === undefined ? Effect.succeed(undefined) : policy.explain(entry, { caller, place, params })
      })
  }
})
