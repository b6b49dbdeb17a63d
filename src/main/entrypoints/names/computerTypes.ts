/** Types of functions, calls, approvals and identities that every entry point with Computers exports. */
export type {
  Functions,
  FunctionDocument,
  FunctionTool,
  FunctionWindow,
  TextSignal
} from "../../../adapters/functions/FunctionDefinitions.ts"
export type { RemoteApprover } from "../../../application/computer/ComputerSettings.ts"
export type { CallExplanation } from "../../../domain/policy/CallExplanation.ts"
export type { ExplainRequest } from "../../../application/computer/calls/CallConsent.ts"
export type { Approval, ApprovalAnswer, ApprovalDecision, Question } from "../../../domain/approvals/Approval.ts"
export type { ApprovalView } from "../../../domain/approvals/ApprovalView.ts"
export type { Grant } from "../../../domain/approvals/standingApprovals.ts"
export type { RuleStep } from "../../../domain/policy/decideByRules.ts"
export type { PolicyAction, PolicyCall, PolicyDecision } from "../../../domain/policy/Rule.ts"
export type { Grants, Identity, Right } from "../../../domain/model/Identity.ts"
