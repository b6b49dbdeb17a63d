import type { JsonObject } from "../json.ts"
import { violationsByPath } from "../schemas/violations.ts"
import type { Caller } from "./Caller.ts"
import type { InputAnswer, InputRequest } from "../model/InputRequest.ts"
import { formatDecided } from "../model/CallStatus.ts"
import { definedOnly } from "../objects.ts"
import type { ToolChange } from "../tools/toolPins.ts"
import type { ComputerName, RequestId } from "../model/ids.ts"

/** A call that waits until a person or a program decides about it, or answers `input`. Its texts are foreign. */
export interface Approval {
  /** 128 random bits in hexadecimal. */
  readonly id: string
  readonly reqId: RequestId
  /** The office of the call and its protocol line; missing outside an office. */
  readonly office?: string
  readonly line?: string
  readonly computer: ComputerName
  /** The MCP server, by its name in the configuration. */
  readonly server: string
  /** The exposed name of the tool. */
  readonly tool: string
  /** Its alias, or else its name at the MCP server. */
  readonly shortName: string
  readonly caller: Caller
  /** The name of the caller. It begins with `operator:` for an operator alone, whose subject follows. */
  readonly requester: string
  readonly params: JsonObject
  /** The SHA-256 of the arguments as canonical JSON, in hexadecimal. */
  readonly argumentsDigest: string
  /** Identifies the tool with its definition and its MCP server. */
  readonly toolDigest: string
  /** Milliseconds of the epoch, as are all times of approvals. */
  readonly requestedAt: number
  readonly expiresAt: number
  /** What asks: `rule 3` or `default`, and the reason of the rule. */
  readonly askedBy: string
  readonly reason?: string
  /** How the tool differs from the one that was approved before. */
  readonly change?: ToolChange
  /** The arguments of the last approved call of this tool since the start of the Computer. */
  readonly previousParams?: JsonObject
  /** The caller of that call, whose arguments no other caller may see. */
  readonly previousCaller?: Caller
  /** The question of the MCP server to answer. The call itself runs already, and needs no consent. */
  readonly input?: InputRequest
}

/** An open question of an MCP server. */
export interface Question extends Approval {
  readonly input: InputRequest
}

export const isElicitation = (approval: Pick<Approval, "input">): approval is Question => approval.input !== undefined

/** Of the content of an answer, in characters of its JSON text. */
export const maxContentLength = 64 * 1024

/** The answer of an approver. `until` in milliseconds of the epoch. */
export type ApprovalAnswer =
  /** This call only. To a question it is the answer, with the `content` of its form. */
  | { readonly action: "allow"; readonly scope: "once"; readonly content?: JsonObject }
  /** This tool in this office, until a time or until it is revoked. */
  | { readonly action: "allow"; readonly scope: "tool"; readonly until?: number }
  | { readonly action: "deny"; readonly reason?: string }
  /** Closes a question without an answer. Denies a call. */
  | { readonly action: "cancel" }

const answerErrorPrefix = "The answer does not fit its form: "

/** The message about an answer that does not fit its form, from violations with JSON pointers. */
export const formatAnswerErrors = (errors: ReadonlyArray<string>): string =>
  `${answerErrorPrefix}${errors.map((error) => error.replace(/^the arguments: /, "the form: ")).join("; ")}`

/** The violations in such a message by the paths of fields, as in `filter.items[0]`; others by the empty path. */
export const parseAnswerErrors = (message: string): ReadonlyMap<string, string> => {
  if (!message.startsWith(answerErrorPrefix)) return new Map([["", message]])
  return violationsByPath(message.slice(answerErrorPrefix.length).split(/; (?=\/|the form: )/))
}

/** The answer of the user to a question, as an approver gives it. */
export const fromInputAnswer = (answer: InputAnswer): ApprovalAnswer => {
  if (answer.action !== "accept") return { action: answer.action === "decline" ? "deny" : "cancel" }
  return { action: "allow", scope: "once", ...definedOnly({ content: answer.content }) }
}

/** The answer to a question that the MCP server receives. */
export const toInputAnswer = (answer: ApprovalAnswer, { mode }: InputRequest): InputAnswer => {
  if (answer.action === "cancel") return answer
  if (answer.action === "deny" || answer.scope === "tool") return { action: "decline" }
  return { action: "accept", ...(mode === "form" && { content: answer.content ?? {} }) }
}

/** How an approval ended. It has one decision. */
export type ApprovalDecision =
  /** `scope` with its `until` as the answer gave them. */
  | {
      readonly state: "allowed"
      readonly by: string
      readonly at: number
      readonly scope: "once" | "tool"
      readonly until?: number
    }
  | { readonly state: "denied"; readonly by: string; readonly at: number; readonly reason?: string }
  /** No approver answered in time. */
  | { readonly state: "expired"; readonly at: number }
  /** The call ended before: its caller cancelled it, or has left. */
  | { readonly state: "cancelled"; readonly at: number }

export interface DecidedApproval {
  readonly approval: Approval
  readonly decision: ApprovalDecision
}

export const toDecision = (answer: ApprovalAnswer, by: string, at: number): ApprovalDecision => {
  if (answer.action === "cancel") return { state: "denied", by, at }
  if (answer.action === "deny") return { state: "denied", by, at, ...definedOnly({ reason: answer.reason }) }
  const until = answer.scope === "tool" ? answer.until : undefined
  return { state: "allowed", by, at, scope: answer.scope, ...definedOnly({ until }) }
}

/** Formats a decision about a call, or a question, for people: `allowed by operator:ann`, `answered by terminal`. */
export const formatDecision = (decision: ApprovalDecision, { input }: Pick<Approval, "input"> = {}): string => {
  const isQuestion = input !== undefined
  if (decision.state === "cancelled") return "ended before a decision: the call was cancelled"
  if (decision.state === "expired") return `expired: no ${isQuestion ? "answer came" : "approver answered"} in time`
  const reason = decision.state === "allowed" || decision.reason === undefined ? "" : `: ${decision.reason}`
  const isAllowed = decision.state === "allowed"
  return `${formatDecided({ by: decision.by, isAllowed, ...(isQuestion && { isQuestion }) })}${reason}`
}
