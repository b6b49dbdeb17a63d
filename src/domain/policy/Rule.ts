import type { Approval } from "../approvals/Approval.ts"
import type { JsonObject } from "../json.ts"

/** What a policy decides about a call: it runs, it needs consent, or it fails. */
export type PolicyAction = "allow" | "ask" | "deny"

const outcomes: { readonly [A in PolicyAction]: string } = {
  allow: "the call runs",
  ask: "the call needs an approval",
  deny: "the call fails with 4005"
}

/** Formats what follows from a decision, for people. `canAsk` tells whether the Computer can ask for an approval. */
export const formatOutcome = (action: PolicyAction, canAsk: boolean): string =>
  action === "ask" && !canAsk ? `${outcomes.ask}, for which this Computer cannot ask: 4005` : outcomes[action]

/** Facts about a call of an Agent or an operator. Names, annotations and arguments are foreign text. */
export interface PolicyCall extends Pick<Approval, "computer" | "server" | "tool" | "shortName" | "params"> {
  /** The name of the caller. It begins with `operator:` for an operator alone, whose subject follows. */
  readonly subject: string
  /** The office of the call; `undefined` outside an office. */
  readonly office: string | undefined
  /** Its name at the MCP server. */
  readonly originalName: string
  /** The MCP annotations of the tool. The MCP server declares them: they are only as trustworthy as the server. */
  readonly annotations: JsonObject | undefined
}

/** A decision about a call. */
export interface PolicyDecision {
  readonly action: PolicyAction
  /** What decided, for the owner of the Computer: `rule 3`. */
  readonly by: string
  /** The reason for people. A denied caller sees it. */
  readonly reason?: string | undefined
}

/** The MCP annotations that a rule can test. */
export const testedAnnotations = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const

export type TestedAnnotation = (typeof testedAnnotations)[number]
