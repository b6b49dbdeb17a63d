import { Schema } from "effect"
import { isAscii, nameKey } from "../model/names.ts"

/** Begins the names of operators in an office. */
const operatorPrefix = "operator:"

/** Characters of other scripts that look like those of the prefix, in lower case. */
const lookalikes: ReadonlyArray<readonly [shown: string, characters: RegExp]> = [
  ["o", /[\u03bf\u043e\u0585\u1d0f]/g],
  ["p", /[\u03c1\u0440\u1d18]/g],
  ["e", /[\u0435\u04bd\u1d07\u212e]/g],
  ["r", /[\u0280\u0433\u1d26]/g],
  ["a", /[\u0251\u03b1\u0430\u1d00]/g],
  ["t", /[\u03c4\u0442\u1d1b]/g],
  [":", /[\u02d0\u02f8\u0589\u05c3\u205a\u2236\ua4fd\ua789]/g]
]

/** A name as people see it: without case, white space, accents, and characters that look like others. */
const seenName = (name: string): string => {
  const key = nameKey(name)
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[\s\p{M}]/gu, "")
  // Most names are ASCII, and every call compares its caller.
  return isAscii(key) ? key : lookalikes.reduce((seen, [shown, characters]) => seen.replaceAll(characters, shown), key)
}

/** True for a name that looks like the one of an operator, which no member of an office may have. */
export const isOperatorLike = (name: string): boolean =>
  !(isAscii(name) && !name.includes(":")) && seenName(name).startsWith(operatorPrefix)

/**
 * Who asked for a call. The wire states a name only, so a Computer counts memberships: another member that joins under the
 * same name is another caller.
 */
export const Caller = Schema.Union([
  /** The owner of the Computer, whose calls need no consent. */
  Schema.TaggedStruct("Owner", {}),
  /** A client of the Computer outside its office, by the name that the program of the Computer gives it. */
  Schema.TaggedStruct("Local", { name: Schema.String }),
  Schema.TaggedStruct("Agent", { name: Schema.String, membership: Schema.Int }),
  /** An operator of the Server, by its authenticated subject. */
  Schema.TaggedStruct("Operator", { subject: Schema.String, membership: Schema.Int })
])
export type Caller = typeof Caller.Type

/** A caller that the Server of the office has verified. */
export type OfficeCaller = Extract<Caller, { readonly membership: number }>

export const operatorName = (subject: string): string => `${operatorPrefix}${subject}`

/**
 * The caller of a request from the office, by its name on the wire. `isProven` tells whether the Server lets no member take
 * the name of an operator. Without it such a name is that of an Agent.
 */
export const officeCaller = (name: string, membership: number, isProven: boolean): OfficeCaller =>
  isProven && name.startsWith(operatorPrefix)
    ? { _tag: "Operator", subject: name.slice(operatorPrefix.length), membership }
    : { _tag: "Agent", name, membership }

/** The name of a caller on the wire. */
export const memberName = (caller: OfficeCaller): string =>
  caller._tag === "Operator" ? operatorName(caller.subject) : caller.name

/** Names the kind of a caller beside a name that looks like that of an operator. Different names stay different. */
const distinguished = (kind: "agent" | "client", name: string): string =>
  /^(?:agent|client)*operator:/.test(seenName(name)) ? `${kind} ${name}` : name

/**
 * The name of a caller for people, rules and the audit; only that of an operator begins with `operator:`. It is no
 * identity: compare callers.
 */
export const callerName = (caller: Caller): string => {
  if (caller._tag === "Owner") return "owner"
  if (caller._tag === "Operator") return operatorName(caller.subject)
  return distinguished(caller._tag === "Local" ? "client" : "agent", caller.name)
}

export const isInOffice = (caller: Caller): caller is OfficeCaller =>
  caller._tag === "Agent" || caller._tag === "Operator"

/** The key of all memberships of a caller. It is no proof: another member may join under the same name. */
export const callerKey = (caller: Caller): string => JSON.stringify([caller._tag, callerName(caller)])

export const isSameCaller = (one: Caller, other: Caller): boolean =>
  callerKey(one) === callerKey(other) &&
  (!isInOffice(one) || (isInOffice(other) && one.membership === other.membership))

/** Who decides about calls: the owner of the Computer with its programs, an operator, or the calling member itself. */
export type Approver =
  | { readonly _tag: "owner"; readonly name: string }
  | { readonly _tag: "page"; readonly name: string }
  | { readonly _tag: "agent"; readonly caller: OfficeCaller }

export const approverName = (approver: Approver): string => {
  if (approver._tag !== "agent") return approver.name
  return approver.caller._tag === "Agent" ? `agent ${approver.caller.name}` : callerName(approver.caller)
}
