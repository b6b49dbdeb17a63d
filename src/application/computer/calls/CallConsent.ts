import { Duration, Effect, Clock } from "effect"
import {
  type Approval,
  type ApprovalDecision,
  type DecidedApproval,
  formatDecision
} from "../../../domain/approvals/Approval.ts"
import { type Caller, callerName, isInOffice, type OfficeCaller } from "../../../domain/approvals/Caller.ts"
import type { CallPlace } from "../../../domain/approvals/standingApprovals.ts"
import type { JsonObject } from "../../../domain/json.ts"
import type { ToolResult } from "../../../domain/model/ToolResult.ts"
import type { PolicyDecision } from "../../../domain/policy/Rule.ts"
import type { CatalogueEntry } from "../../../domain/tools/catalogue.ts"
import { confirmationRequired, toolDisabled } from "../../../domain/tools/errorResults.ts"
import { defaultLineName } from "../../../domain/wire/lines.ts"
import type { Approvals } from "../approvals/Approvals.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { ServerSupervisor } from "../servers/ServerSupervisor.ts"
import { type Call, reportDelay } from "./Call.ts"
import { isSuccess, makeCallPolicy } from "./CallPolicy.ts"
import type { ComputerName, RequestId } from "../../../domain/model/ids.ts"
import type { InputRequest } from "../../../domain/model/InputRequest.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { AuditLog } from "../../ports/AuditLog.ts"
import { jsonBody } from "../../ports/Body.ts"
import { truncateText } from "../../shared/logLimits.ts"

/** Who or what decided about a call, and how. */
export interface AuditedDecision {
  /** `allow`, `deny`, or why there was no decision: `expired`, `cancelled`. */
  readonly action: "allow" | "deny" | "expired" | "cancelled"
  /** A rule, `auto_apply`, `approved pattern`, a grant, or the approver. */
  readonly by?: string | undefined
  readonly reason?: string | undefined
  /** The id of the approval. */
  readonly approval?: string
  readonly scope?: "once" | "tool" | undefined
  /** Milliseconds of the epoch. */
  readonly until?: number | undefined
  /** The decision answers a question, instead of consent. Its answer is not recorded. */
  readonly question?: InputRequest["mode"]
}

const actions = { allowed: "allow", denied: "deny", expired: "expired", cancelled: "cancelled" } as const

/** The decision about an approval, for the audit. */
export const auditedDecision = ({
  approval,
  decision: { at: _, state, ...decision }
}: DecidedApproval): AuditedDecision => ({ action: actions[state], approval: approval.id, ...decision })

/** Makes the function that records every decision about a call, with a digest of its arguments, where there is an audit. */
export const makeDecisionAudit = Effect.fnUntraced(function* (computer: ComputerName) {
  const clock = yield* Clock.Clock
  const audit = yield* AuditLog
  return (
    { caller, params, reqId }: { readonly caller: Caller; readonly reqId: RequestId; readonly params: JsonObject },
    { originalName, server, tool }: CatalogueEntry,
    office: string | undefined,
    { reason, until, ...decision }: AuditedDecision
  ): void => {
    if (audit === undefined) return
    const fields = {
      type: "decision",
      computer,
      req_id: truncateText(reqId),
      server,
      tool: tool.name,
      original_name: originalName,
      caller_kind: caller._tag.toLowerCase(),
      ...definedOnly({
        office,
        agent: caller._tag === "Owner" ? undefined : truncateText(callerName(caller)),
        ...decision,
        reason: reason && truncateText(reason),
        until: until === undefined ? undefined : new Date(until).toISOString()
      })
    }
    audit.record({ time: clock.currentTimeMillisUnsafe(), fields, request: jsonBody({ params }) })
  }
})

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

const because = (reason: string | undefined): string => (reason === undefined ? "" : `: ${reason}`)

const notInTime = (tool: string): ToolResult => confirmationRequired(`Tool '${tool}' was not confirmed in time`)

const cannotAsk = (tool: string): ToolResult =>
  confirmationRequired(
    `Tool '${tool}' needs confirmation and this Computer cannot ask for it. ` +
      "Its owner can approve it (auto_apply, --approve, --policy, --approvers)."
  )

const denyByPolicy = ({ caller, toolName: tool }: Call, { by, reason }: PolicyDecision) => {
  const text = `Tool '${tool}' was denied by this Computer${because(reason)}`
  const fields = { tool, agent: callerName(caller), by, reason }
  return Effect.andThen(Effect.logInfo("call denied by the policy", fields), Effect.fail(confirmationRequired(text)))
}

const denialOf = (decision: ApprovalDecision, tool: string): ToolResult | undefined => {
  if (decision.state === "allowed") return undefined
  if (decision.state !== "denied") return notInTime(tool)
  return confirmationRequired(`Tool '${tool}' was not confirmed${because(decision.reason)}`)
}

/** Waits for a decision as long as its call has time. */
const inTime = <A>(call: Call, deciding: Effect.Effect<A, ToolResult>): Effect.Effect<A, ToolResult> =>
  isSuccess(deciding)
    ? deciding
    : Effect.flatMap(call.remaining, (duration) =>
        Effect.timeoutOrElse(deciding, { duration, orElse: () => Effect.fail(notInTime(call.toolName)) })
      )

const makeApproverRequest = Effect.fnUntraced(function* ({ approvals, computer }: ConsentParts) {
  const { approvalTimeout } = yield* ComputerSettings
  const waitSeconds = Math.ceil(Duration.toSeconds(approvalTimeout))
  return Effect.fnUntraced(function* (
    call: Call,
    entry: CatalogueEntry,
    { by: askedBy, reason }: PolicyDecision,
    place: CallPlace | undefined
  ) {
    const { caller, params, reqId } = call
    let isAnnounced = false
    const announce = Effect.fnUntraced(function* ({ id, server, tool }: Approval) {
      if (!isInOffice(caller)) return true
      yield* Effect.sleep(reportDelay)
      // The Agent may know of the wait, and an approver decide, before the Server acknowledges the announcement.
      isAnnounced = true
      const approval = { id, server, tool, waitSeconds }
      const isExtended = yield* call.announceWait({ _tag: "WaitingForConsent", computer, approval })
      if (isExtended) call.dispatch({ _tag: "Extended" })
      return isExtended
    })
    const { limit } = call.awaitApproval("ConsentAwaited")
    const decided = yield* approvals.request(
      { reqId, caller, params, askedBy, reason, entry, place },
      { limit, announce }
    )
    const { decision } = decided
    call.dispatch({ _tag: "ConsentDecided" })
    if (isAnnounced && (decision.state === "allowed" || decision.state === "denied")) {
      yield* call.report({ _tag: "Decided", computer, isAllowed: decision.state === "allowed", by: decision.by })
    }
    return decided
  })
})

/** What decides about the calls of a Computer. */
export interface ConsentParts {
  readonly approvals: Approvals
  readonly audit: Effect.Success<ReturnType<typeof makeDecisionAudit>>
  readonly computer: ComputerName
  readonly currentOffice: () => CallPlace | undefined
  readonly servers: ServerSupervisor
}

/** Obtains consent to calls: from the policy and standing consent, or else from an approver. Audits every decision. */
export const makeCallConsent = Effect.fnUntraced(function* (parts: ConsentParts) {
  const { approvals, audit, currentOffice, servers } = parts
  const policy = yield* makeCallPolicy(parts)
  const askApprovers = yield* makeApproverRequest(parts)
  const entryOf = (tool: string) => servers.snapshot().catalogue.entries.get(tool)

  /** Makes the check that a tool is as it is now; or gone, where its server may restart. */
  const makeToolCheck = (tool: string, entry: CatalogueEntry, mayBeGone = false): Effect.Effect<void, ToolResult> => {
    const { digestOf } = approvals
    const digest = digestOf(entry)
    return Effect.suspend(() => {
      const current = entryOf(tool)
      const isUnchanged = current === undefined ? mayBeGone : digestOf(current) === digest
      return isUnchanged ? Effect.void : Effect.fail(toolDisabled(tool))
    })
  }

  /** Lets a call run, or fails with its result. Gives the check that the policy does not deny the call meanwhile. */
  const requireConsent = Effect.fnUntraced(function* (call: Call, entry: CatalogueEntry) {
    const { caller, params, toolName: tool } = call
    const place = currentOffice()
    const record = (decision: AuditedDecision) => audit(call, entry, place?.office, decision)
    if (caller._tag === "Owner") {
      record({ action: "allow", by: "owner" })
      return Effect.void
    }
    const facts = { caller, place, params }
    // A decision covers the tool as it was decided about.
    const checkTool = makeToolCheck(tool, entry, true)
    const checkPolicy = Effect.flatMap(policy.makeReview(entry, facts), (review) => {
      if (review?.action !== "deny") return Effect.void
      record({ action: review.action, by: review.by, reason: review.reason })
      return denyByPolicy(call, review)
    })
    const decision = yield* inTime(call, policy.decide(entry, facts))
    const { action, by, reason } = decision
    if (action !== "ask") record({ action, by, reason })
    if (action === "deny") return yield* denyByPolicy(call, decision)
    if (action === "allow") return yield* Effect.as(checkTool, checkPolicy)
    if (!approvals.canAsk) {
      record({ action: "deny", by: "no approver" })
      return yield* Effect.fail(cannotAsk(tool))
    }
    const decided = yield* Effect.onInterrupt(askApprovers(call, entry, decision, place), () =>
      Effect.sync(() => record({ action: "cancelled" }))
    )
    yield* Effect.logInfo("call decided", {
      tool,
      agent: callerName(caller),
      decision: formatDecision(decided.decision)
    })
    record(auditedDecision(decided))
    const denial = denialOf(decided.decision, tool)
    if (denial !== undefined) return yield* Effect.fail(denial)
    yield* checkTool
    yield* inTime(call, checkPolicy)
    return checkPolicy
  })

  return {
    requireConsent,
    makeToolCheck,
    /** Tells how a call of this caller is decided; `undefined` for an unknown tool. */
    explain: ({ line, office, params, subject, tool }: ExplainRequest, inOffice: OfficeCaller) =>
      Effect.suspend(() => {
        const current = currentOffice()
        const place = office === undefined ? current : { office, line: line ?? current?.line ?? defaultLineName }
        const entry = entryOf(tool)
        const caller: Caller = place === undefined ? { _tag: "Local", name: subject } : inOffice
        return entry === undefined ? Effect.succeed(undefined) : policy.explain(entry, { caller, place, params })
      })
  }
})

export type CallConsent = Effect.Success<ReturnType<typeof makeCallConsent>>
