import type { PolicyCall } from "../../../src/domain/policy/Rule.ts"

/** A call without annotations and arguments. */
export const policyCall: PolicyCall = {
  subject: "agent",
  office: "team",
  computer: "desk",
  server: "notes",
  tool: "write",
  shortName: "write",
  originalName: "write",
  annotations: undefined,
  params: {}
}
