import type { JsonObject } from "../json.ts"
import type { ToolChange } from "./toolPins.ts"

/** A call that waits until a person or a program decides about it. Names and arguments are foreign text. */
export interface Approval {
  /** 128 random bits in hexadecimal. */
  readonly id: string
  readonly reqId: string
  /** The office of the call and its protocol line; missing outside an office. */
  readonly office?: string
  readonly line?: string
  readonly computer: string
  /** The MCP server, by its name in the configuration. */
  readonly server: string
  /** The exposed name of the tool. */
  readonly tool: string
  /** Its alias, or else its name at the MCP server. */
  readonly shortName: string
  /** The name of the caller: an Agent, or `operator:` and the subject of an operator. */
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
}

/** The answer of an approver. `until` in milliseconds of the epoch. */
export type ApprovalAnswer =
  /** This call only. */
  | { readonly action: "allow"; readonly scope: "once" }
  /** This tool in this office, until a time or until it is revoked. */
  | { readonly action: "allow"; readonly scope: "tool"; readonly until?: number }
  | { readonly action: "deny"; readonly reason?: string }

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

/** An approval that was decided. */
export interface DecidedApproval {
  readonly approval: Approval
  readonly decision: ApprovalDecision
}

/** The decision that an answer makes. */
export const toDecision = (answer: ApprovalAnswer, by: string, at: number): ApprovalDecision => {
  if (answer.action === "deny") {
    const { reason } = answer
    return { state: "denied", by, at, ...(reason !== undefined && { reason }) }
  }
  return answer.scope === "once"
    ? { state: "allowed", by, at, scope: "once" }
    : { state: "allowed", by, at, scope: "tool", ...(answer.until !== undefined && { until: answer.until }) }
}

/** Formats a decision for people: `allowed by operator:ann`. */
export const formatDecision = (decision: ApprovalDecision): string => {
  switch (decision.state) {
    case "allowed":
      return `allowed by ${decision.by}`
    case "denied":
      return `denied by ${decision.by}${decision.reason === undefined ? "" : `: ${decision.reason}`}`
    case "expired":
      return "expired: no approver answered in time"
    case "cancelled":
      return "ended before a decision: the call was cancelled"
  }
}
