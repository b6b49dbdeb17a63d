import { type Approver, Caller, isInOffice, isSameCaller } from "./Caller.ts"
import { Schema } from "effect"
import { makeCodec } from "../validation.ts"
import { maxPins, ToolPin } from "../tools/toolPins.ts"

// MCP servers, the Server and programs choose names: one that the codec rejects would keep all approvals from the file.
const Text = Schema.String
const Optional = Schema.optionalKey

const StoredGrant = Schema.Struct({
  id: Text,
  /** Missing for calls from outside an office. */
  office: Optional(Text),
  line: Optional(Text),
  server: Text,
  /** The exposed name of the tool when it was allowed. */
  tool: Text,
  /** The allowance ends when the tool changes. */
  toolDigest: Text,
  /** Milliseconds of the epoch; missing for an allowance without an end. */
  until: Optional(Schema.Finite),
  by: Text,
  /** The kind of approver that gave it, and the caller of the call that it decided; missing in files of earlier versions. */
  approver: Optional(Schema.Literals(["owner", "page", "agent"])),
  caller: Optional(Caller),
  at: Schema.Finite
})

/** A lasting allowance: calls of this tool in this office run without a question. */
export interface Grant extends Schema.Schema.Type<typeof StoredGrant> {}

/** Grants of a Computer. The oldest ones are dropped first. */
export const maxStandingApprovals = 1000

const Stored = Schema.Struct({
  /** The oldest one first, as the pins. */
  grants: Schema.Array(StoredGrant).check(Schema.isMaxLength(maxStandingApprovals)),
  pins: Schema.Array(ToolPin).check(Schema.isMaxLength(maxPins))
})

/** What a Computer keeps about approvals between its runs. */
export interface StoredApprovals extends Schema.Schema.Type<typeof Stored> {}

/** The approvals of one Computer in a file. */
export const storedApprovalsCodec = makeCodec(Stored)

export const noApprovals: StoredApprovals = { grants: [], pins: [] }

/** An office: offices of one id on different protocol lines are different ones. */
export interface CallPlace {
  readonly office: string
  readonly line: string
}

/**
 * The kind of approver that gave a grant. Files of earlier versions tell it by the name: an Agent could choose no other
 * than this one.
 */
const approverOf = ({ approver, by }: Grant): Approver["_tag"] =>
  approver ?? (by.startsWith("agent ") ? "agent" : by.startsWith("operator:") ? "page" : "owner")

/**
 * True when a grant covers a call: of the same tool in the same office, and from there or from outside as the call that it was
 * given for. That of an Agent covers its calls only.
 */
export const coversCall = (
  grant: Grant,
  call: Partial<CallPlace> & { readonly toolDigest: string; readonly caller: Caller }
): boolean => {
  const { caller, line, office, toolDigest } = grant
  if (toolDigest !== call.toolDigest || office !== call.office || line !== call.line) return false
  if (approverOf(grant) === "agent") return caller !== undefined && isSameCaller(caller, call.caller)
  const isFromOffice = caller === undefined ? office !== undefined : isInOffice(caller)
  return isFromOffice === isInOffice(call.caller)
}

/** True for a grant of one membership of an Agent, which ends with it and is not stored. */
export const isOfAgent = (grant: Grant): boolean => approverOf(grant) === "agent"

/** True while the approver that gave a grant may decide. The owner may always. */
export const isInForce = (grant: Grant, approvers: ReadonlyArray<string>): boolean => {
  const approver = approverOf(grant)
  return approver === "owner" || approvers.includes(approver)
}

export const isExpired = ({ until }: Pick<Grant, "until">, now: number): boolean => until !== undefined && until <= now

/** Adds a grant instead of the one of the same kind of approver for the same calls, and drops the expired ones. */
export const addStandingApproval = (
  grants: ReadonlyArray<Grant>,
  added: Grant & { readonly caller: Caller },
  now: number
): ReadonlyArray<Grant> => {
  const isReplaced = (grant: Grant) => approverOf(grant) === approverOf(added) && coversCall(grant, added)
  return [...grants.filter((grant) => !isExpired(grant, now) && !isReplaced(grant)), added].slice(-maxStandingApprovals)
}
