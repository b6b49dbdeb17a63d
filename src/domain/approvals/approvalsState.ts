import { findRoundedIntegers, type JsonObject, roundedIntegersProblem, asObject, stringOrEmpty } from "../json.ts"
import type { InputRequest } from "../model/InputRequest.ts"
import { badRequest, conflict, notFound, type ProtocolError } from "../model/ProtocolError.ts"
import { definedOnly } from "../objects.ts"
import { questionFormats } from "../schemas/textFormats.ts"
import { addPin, type PinnedDefinition } from "../tools/toolPins.ts"
import {
  type Approval,
  type ApprovalAnswer,
  type ApprovalDecision,
  type DecidedApproval,
  formatAnswerErrors,
  formatDecision,
  isElicitation,
  maxContentLength,
  toDecision
} from "./Approval.ts"
import { type Approver, approverName } from "./Caller.ts"
import { addStandingApproval, coversCall, isExpired, isOfAgent, type StoredApprovals } from "./standingApprovals.ts"

/** The fields of an answer that do not have the format that their question asks for, each with the reason. */
export const answerFormatProblems = (schema: JsonObject, content: JsonObject): ReadonlyArray<string> =>
  Object.entries(asObject(schema["properties"])).flatMap(([name, field]) => {
    const [format, value] = [stringOrEmpty(asObject(field)["format"]), content[name]]
    const asked = Object.hasOwn(questionFormats, format) ? questionFormats[format] : undefined
    if (asked === undefined || typeof value !== "string" || asked.matches(value)) return []
    return [`/${name}: must match format "${format}"`]
  })

/** Decided approvals that are kept, the latest ones, to tell a late approver who decided. */
const maxDecided = 100

/** Tools whose last approved arguments are kept, and the characters of the arguments of one. */
const maxApprovedCalls = 100
const maxApprovedLength = 64 * 1024

/** An approval that waits for its decision, with the definition of its tool, and the name of that at the MCP server. */
export interface PendingApproval {
  readonly approval: Approval
  readonly originalName: string
  readonly definition: PinnedDefinition
}

interface ApprovedCall {
  readonly server: string
  readonly originalName: string
  readonly previous: Required<Pick<Approval, "previousParams" | "previousCaller">>
}

/** The approvals of a Computer, and what earlier ones leave behind. The oldest ones are first. */
export interface ApprovalsState {
  readonly open: ReadonlyArray<PendingApproval>
  readonly decided: ReadonlyArray<DecidedApproval>
  readonly stored: StoredApprovals
  readonly approvedCalls: ReadonlyArray<ApprovedCall>
}

/** What happens to approvals. Times are milliseconds of the epoch. */
export type ApprovalsEvent =
  | { readonly _tag: "Requested"; readonly request: PendingApproval }
  /** The caller waits longer. */
  | { readonly _tag: "Extended"; readonly id: string; readonly expiresAt: number }
  /** `violations` are those of the schema of an elicitation. */
  | {
      readonly _tag: "Answered"
      readonly id: string
      readonly answer: ApprovalAnswer
      readonly approver: Approver
      readonly violations: ReadonlyArray<string>
      readonly at: number
    }
  | { readonly _tag: "TimePassed"; readonly id: string; readonly at: number }
  | { readonly _tag: "CallEnded"; readonly id: string; readonly at: number }
  | { readonly _tag: "Revoked"; readonly id: string }
  /** The membership of the Agent has ended, and with it the standing approvals that it gave. */
  | { readonly _tag: "AgentLeft" }

export type ApprovalsCommand =
  /** Ends the wait for a decision, or for the answer to an elicitation, whose content is kept nowhere else. */
  | { readonly _tag: "End"; readonly id: string; readonly decision: ApprovalDecision; readonly answer?: ApprovalAnswer }
  | { readonly _tag: "Reject"; readonly error: ProtocolError }
  | { readonly _tag: "Save" }

type Transition = readonly [ApprovalsState, ReadonlyArray<ApprovalsCommand>]

export const findOpen = ({ open }: Pick<ApprovalsState, "open">, id: string): PendingApproval | undefined =>
  open.find(({ approval }) => approval.id === id)

export const findDecided = ({ decided }: Pick<ApprovalsState, "decided">, id: string): DecidedApproval | undefined =>
  decided.find(({ approval }) => approval.id === id)

/** The last approved call of a tool, for the next approval of it. */
export const previousCallOf = (
  { approvedCalls }: Pick<ApprovalsState, "approvedCalls">,
  { originalName, server }: Omit<ApprovedCall, "previous">
): Partial<ApprovedCall["previous"]> =>
  approvedCalls.find((one) => one.server === server && one.originalName === originalName)?.previous ?? {}

export const withoutAgentApprovals = (stored: StoredApprovals): StoredApprovals => ({
  ...stored,
  grants: stored.grants.filter((one) => !isOfAgent(one))
})

/** The reason why an answer does not fit its elicitation, apart from the schema of its form. */
export const elicitationProblem = (elicitation: InputRequest, answer: ApprovalAnswer): string | undefined => {
  if (answer.action !== "allow") return undefined
  if (answer.scope === "tool") return "A question is answered once: its answer has no scope"
  if (elicitation.mode === "url") return undefined
  const { content } = answer
  if (content === undefined) return "The answer to a question has the content of its form"
  if (JSON.stringify(content).length > maxContentLength) {
    return `The content of an answer has at most ${maxContentLength} characters`
  }
  const rounded = findRoundedIntegers(content).map((pointer) => `${pointer}: ${roundedIntegersProblem}`)
  const problems = rounded.length > 0 ? rounded : answerFormatProblems(elicitation.schema, content)
  return problems.length > 0 ? formatAnswerErrors(problems) : undefined
}

const end = (
  state: ApprovalsState,
  ended: ReadonlyArray<PendingApproval>,
  decision: ApprovalDecision,
  answer?: ApprovalAnswer
): Transition => [
  {
    ...state,
    open: state.open.filter((one) => !ended.includes(one)),
    decided: [...state.decided, ...ended.map(({ approval }) => ({ approval, decision }))].slice(-maxDecided)
  },
  ended.map(({ approval: { id } }) => ({ _tag: "End", id, decision, ...definedOnly({ answer }) }))
]

/** Keeps the definition of the tool that was allowed, and the arguments to compare its next call with. */
const remember = (
  state: ApprovalsState,
  { approval, definition, originalName }: PendingApproval,
  by: string,
  at: number
): ApprovalsState => {
  const { caller: previousCaller, params: previousParams, server, toolDigest: digest } = approval
  const pins = addPin(state.stored.pins, { server, tool: originalName, digest, definition, at, by })
  const others = state.approvedCalls.filter((one) => one.server !== server || one.originalName !== originalName)
  const isLarge = JSON.stringify(previousParams).length > maxApprovedLength
  const approvedCall = { server, originalName, previous: { previousParams, previousCaller } }
  return {
    ...state,
    stored: { ...state.stored, pins },
    approvedCalls: isLarge ? others : [...others, approvedCall].slice(-maxApprovedCalls)
  }
}

type Answered = Extract<ApprovalsEvent, { readonly _tag: "Answered" }>

const toStandingApproval = ({ approval }: PendingApproval, { answer, approver, at }: Answered) => {
  if (answer.action !== "allow" || answer.scope === "once") return undefined
  const { id, line, office, server, tool, toolDigest } = approval
  // A task may be held by a later membership than the one that called.
  const caller = approver._tag === "agent" ? approver.caller : approval.caller
  const given = { by: approverName(approver), approver: approver._tag, at, caller }
  return { id, server, tool, toolDigest, ...given, ...definedOnly({ office, line, until: answer.until }) }
}

/** Ends an approval of a call that is allowed, with those that a standing approval covers. */
const allow = (
  state: ApprovalsState,
  open: PendingApproval,
  event: Answered,
  decision: ApprovalDecision
): Transition => {
  const remembered = remember(state, open, approverName(event.approver), event.at)
  const { stored } = remembered
  const added = toStandingApproval(open, event)
  const isCovered = ({ approval }: PendingApproval) =>
    added !== undefined && !isElicitation(approval) && coversCall(added, approval)
  const grants = added === undefined ? stored.grants : addStandingApproval(stored.grants, added, event.at)
  const ended = state.open.filter((one) => one === open || isCovered(one))
  const [next, commands] = end({ ...remembered, stored: { ...stored, grants } }, ended, decision)
  return [next, [...commands, { _tag: "Save" }]]
}

const reject = (state: ApprovalsState, error: ProtocolError): Transition => [state, [{ _tag: "Reject", error }]]

/** Takes the first answer that fits; one that does not leaves the approval open. */
const takeAnswer = (state: ApprovalsState, open: PendingApproval | undefined, event: Answered): Transition => {
  const { answer, approver, at, id, violations } = event
  if (answer.action === "allow" && answer.scope === "tool" && isExpired(answer, at)) {
    return reject(state, badRequest("The time until which the tool is allowed has passed"))
  }
  if (open === undefined) {
    const past = findDecided(state, id)
    if (past === undefined) return reject(state, notFound("The approval is not open any more"))
    const what = isElicitation(past.approval) ? "question" : "approval"
    return reject(state, conflict(`The ${what} was ${formatDecision(past.decision, past.approval)}`))
  }
  const decision = toDecision(answer, approverName(approver), at)
  if (isElicitation(open.approval)) {
    const problem =
      elicitationProblem(open.approval.input, answer) ??
      (violations.length === 0 ? undefined : formatAnswerErrors(violations))
    return problem === undefined ? end(state, [open], decision, answer) : reject(state, badRequest(problem))
  }
  return decision.state === "allowed" ? allow(state, open, event, decision) : end(state, [open], decision)
}

/**
 * Changes approvals, each of which is open until its one decision: by the first valid answer, at its expiry, or with its
 * call. Events about an approval that is not open change nothing. An answer for the tool also ends the approvals that it
 * covers, and stands for later calls.
 */
export const transitionApprovals = (state: ApprovalsState, event: ApprovalsEvent): Transition => {
  const open = "id" in event ? findOpen(state, event.id) : undefined
  switch (event._tag) {
    case "Requested":
      return [{ ...state, open: [...state.open, event.request] }, []]
    case "Extended": {
      if (open === undefined) return [state, []]
      const extended = { ...open, approval: { ...open.approval, expiresAt: event.expiresAt } }
      return [{ ...state, open: state.open.with(state.open.indexOf(open), extended) }, []]
    }
    case "Answered":
      return takeAnswer(state, open, event)
    case "TimePassed":
      return open === undefined || event.at < open.approval.expiresAt
        ? [state, []]
        : end(state, [open], { state: "expired", at: event.at })
    case "CallEnded":
      return open === undefined ? [state, []] : end(state, [open], { state: "cancelled", at: event.at })
    case "Revoked": {
      const grants = state.stored.grants.filter(({ id }) => id !== event.id)
      return grants.length === state.stored.grants.length
        ? [state, []]
        : [{ ...state, stored: { ...state.stored, grants } }, [{ _tag: "Save" }]]
    }
    case "AgentLeft":
      return [{ ...state, stored: withoutAgentApprovals(state.stored) }, []]
  }
}
