import type { JsonObject } from "../json.ts"
import type { ComputerName } from "../model/ids.ts"

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
export interface PolicyCall {
  /** The name of the caller. It begins with `operator:` for an operator alone, whose subject follows. */
  readonly subject: string
  /** The office of the call; `undefined` outside an office. */
  readonly office: string | undefined
  readonly computer: ComputerName
  /** The MCP server, by its name in the configuration. */
  readonly server: string
  /** The exposed name of the tool. */
  readonly tool: string
  /** Its alias, or else its name at the MCP server. */
  readonly shortName: string
  /** Its name at the MCP server. */
  readonly originalName: string
  /** The MCP annotations of the tool. The MCP server declares them: they are only as trustworthy as the server. */
  readonly annotations: JsonObject | undefined
  readonly params: JsonObject
}

/** A decision about a call. */
export interface PolicyDecision {
  readonly action: PolicyAction
  /** What decided, for the owner of the Computer: `rule 3`. */
  readonly by: string
  /** The reason for people. A denied caller sees it. */
  readonly reason?: string | undefined
}

/** A value that a test compares with. */
export type Literal = string | number | boolean | null

/** Tests of one argument. All given ones must hold. An absent argument meets only `present: false`. */
export interface ArgumentTest {
  readonly equals?: Literal | undefined
  readonly oneOf?: ReadonlyArray<Literal> | undefined
  /** Patterns in which `*` stands for any text. Only a text matches. */
  readonly matches?: ReadonlyArray<string> | undefined
  /** Only a number meets the bounds. */
  readonly atLeast?: number | undefined
  readonly atMost?: number | undefined
  readonly present?: boolean | undefined
}

/** The MCP annotations that a rule can test. */
export const testedAnnotations = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const

export type TestedAnnotation = (typeof testedAnnotations)[number]

/** The patterns of a rule, each over one fact of a call. */
export const patternConditions = ["subject", "office", "computer", "server", "tool"] as const

/** A rule: its action applies to calls that meet all its conditions. One without conditions applies to every call. */
export interface Rule extends Partial<Record<(typeof patternConditions)[number], ReadonlyArray<string> | undefined>> {
  readonly action: PolicyAction
  readonly reason?: string | undefined
  readonly annotations?: Partial<Record<TestedAnnotation, boolean | undefined>> | undefined
  /** Tests by the name of an argument, or by its JSON Pointer (RFC 6901) such as `/options/force`. */
  readonly arguments?: { readonly [argument: string]: ArgumentTest } | undefined
}
