import { Record, Schema } from "effect"
import { truncateQuote } from "../errorMessage.ts"
import { JsonObject } from "../json.ts"
import { BoundedText as Text } from "../model/fields.ts"
import { type InputRequest, toExactRequest } from "../model/InputRequest.ts"
import { wireStruct } from "../model/wireStruct.ts"
import { definedOnly } from "../objects.ts"
import type { Approval, ApprovalAnswer, ApprovalDecision } from "./Approval.ts"
import { ToolChange } from "../tools/toolPins.ts"

const Optional = Schema.optionalKey

/** Characters of the arguments in a list of approvals, and in one approval. */
export const argumentsLengths = { list: 2000, one: 256 * 1024 } as const

/** Approvals in a list; the oldest ones. */
export const maxListedApprovals = 100

const Arguments = Schema.String.check(Schema.isMaxLength(argumentsLengths.one + 1))

/** Characters of the message of a question in a list, and of the JSON text of its schema, which a longer one omits. */
const maxListedMessage = 500
const maxListedSchema = 4096

/** A question as its responders see it; `schema` is missing in a list where it is long. */
const InputView = Schema.Union([
  Schema.Struct({ mode: Schema.Literal("form"), message: Text, schema: Optional(JsonObject) }),
  Schema.Struct({ mode: Schema.Literal("url"), message: Text, url: Text })
])

/**
 * An approval as its approvers see it. Arguments are indented JSON, which ends with `…` when it is truncated. Times are
 * milliseconds of the epoch at the Computer; `expiresIn` does not depend on its clock.
 */
export const ApprovalView = wireStruct(
  {
    id: Text,
    computer: Text,
    server: Text,
    tool: Text,
    requester: Text,
    arguments: Arguments,
    argumentsDigest: Text,
    /** The arguments of the last approved call of this tool; missing in lists. */
    previousArguments: Optional(Arguments),
    change: Optional(ToolChange),
    askedBy: Text,
    reason: Optional(Text),
    requestedAt: Schema.Finite,
    expiresIn: Schema.Finite,
    state: Schema.Literals(["open", "allowed", "denied", "expired", "cancelled"]),
    decidedBy: Optional(Text),
    decidedAt: Optional(Schema.Finite),
    /** How long the tool is allowed in this office: this call, or until a time, or until the grant is revoked. */
    scope: Optional(Schema.Literals(["once", "tool"])),
    until: Optional(Schema.Finite),
    denialReason: Optional(Text),
    /** The question to answer instead of consent. */
    input: Optional(InputView)
  },
  { argumentsDigest: "arguments_sha256", expiresIn: "expires_in_ms" }
)
export type ApprovalView = typeof ApprovalView.Type

/** Characters of the reason of a denial. */
export const maxReasonLength = 500

/** An answer in a message. */
export const AnswerFields = {
  /** `allow` answers a question, `deny` declines it, and `cancel` closes it. */
  action: Schema.Literals(["allow", "deny", "cancel"]),
  /** `once` by default. */
  scope: Optional(Schema.Literals(["once", "tool"])),
  until: Optional(Schema.Finite),
  reason: Optional(Schema.String.check(Schema.isMaxLength(maxReasonLength))),
  /** The values of the form of a question. */
  content: Optional(JsonObject)
}

export const toAnswer = ({
  action,
  content,
  reason,
  scope,
  until
}: Schema.Struct.Type<typeof AnswerFields>): ApprovalAnswer => {
  if (action === "cancel") return { action }
  if (action === "deny") return { action, ...definedOnly({ reason }) }
  return scope === "tool"
    ? { action, scope, ...definedOnly({ until }) }
    : { action, scope: "once", ...definedOnly({ content }) }
}

/** Formats arguments as indented JSON of at most this many characters. */
const formatArguments = (params: JsonObject, maxLength: number): string => {
  // Indenting a huge value would take long, and only its start is shown.
  const compact = JSON.stringify(params)
  return truncateQuote(compact.length > maxLength ? compact : JSON.stringify(params, null, 2), maxLength)
}

const bounded = (text: string): string => (text.length <= 8192 ? text : truncateQuote(text, 8191))

const listInput = (input: InputRequest): typeof InputView.Type => {
  const message = input.message.slice(0, maxListedMessage).toWellFormed()
  if (input.mode === "url") return { ...input, message }
  const { mode, schema } = input
  return { mode, message, ...(JSON.stringify(schema).length <= maxListedSchema && { schema }) }
}

/** The question of a view that has all of it. Computers of other versions may send rounded integers. */
export const inputOf = ({ input }: Pick<ApprovalView, "input">): InputRequest | undefined => {
  if (input?.mode !== "form") return input
  const { message, mode, schema } = input
  return schema === undefined ? undefined : toExactRequest({ mode, message, schema }).request
}

const decisionFields = (decision: ApprovalDecision | undefined) => {
  if (decision === undefined) return { state: "open" as const }
  const { at: decidedAt, state, ...how }: { readonly reason?: string } & ApprovalDecision = decision
  const { by: decidedBy, reason: denialReason, ...scope } = "by" in how ? how : {}
  return { state, decidedAt, ...definedOnly({ decidedBy, denialReason }), ...scope }
}

/** Makes the view of an approval, for a list or alone. */
export const toApprovalView = (
  approval: Approval,
  decision: ApprovalDecision | undefined,
  now: number,
  kind: keyof typeof argumentsLengths
): ApprovalView => {
  const { argumentsDigest, change, expiresAt, id, input, params, previousParams, reason, requestedAt } = approval
  const { askedBy, computer, requester, server, tool } = approval
  return {
    id,
    argumentsDigest,
    requestedAt,
    ...Record.map({ computer, server, tool, requester, askedBy }, bounded),
    arguments: formatArguments(params, argumentsLengths[kind]),
    expiresIn: decision === undefined ? Math.max(0, expiresAt - now) : 0,
    ...decisionFields(decision),
    ...definedOnly({
      change,
      input: input === undefined || kind === "one" ? input : listInput(input),
      reason: reason && bounded(reason),
      previousArguments:
        kind === "one" && previousParams ? formatArguments(previousParams, argumentsLengths.one) : undefined
    })
  }
}
