/** What `a2c-smcp` and `a2c-smcp/computer` export. */
export type * from "./computerTypes.ts"
export {
  type FunctionsOptions,
  InvalidFunction,
  type OfferedFunctions
} from "../../../adapters/functions/makeFunctions.ts"
export { Computer, type ComputerOptions } from "../../../application/computer/Computer.ts"
export * as RulePolicy from "../../../application/computer/calls/RulePolicy.ts"
export { ApprovalStore, ApprovalsUnavailable } from "../../../application/ports/approvals/ApprovalStore.ts"
export { Policy } from "../../../application/ports/approvals/Policy.ts"
export { AuditLog, type AuditEvent } from "../../../application/ports/AuditLog.ts"
export { type ArgumentTest, type Literal, parseRules, type Rule } from "../../../domain/policy/parseRules.ts"
