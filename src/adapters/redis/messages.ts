import { Schema } from "effect"
import type { Member, Seat } from "../../domain/office/membership.ts"
import { Role } from "../../domain/protocol/v0_2/office.ts"

const MemberWire = Schema.Struct({
  since: Schema.Finite,
  sid: Schema.String,
  node: Schema.String,
  version: Schema.String,
  seat: Schema.Struct({ office: Schema.String, role: Role, name: Schema.String })
})

/** A member as the scripts take it: they add the revision with which it enters. */
export const memberText = ({ node, seat, sid, version }: Omit<Member, "since">): string =>
  JSON.stringify({ sid, node, version, seat })

/** The field of an office's hash that stands for a seat: an office has one Agent, and one Computer of a name. */
export const fieldOf = ({ name, role }: Seat): string => (role === "agent" ? "a" : `c${name}`)

/** The seat of a field. The name of an Agent is not in it. */
export const seatAt = (office: string, field: string): Seat =>
  field === "a" ? { office, role: "agent", name: "" } : { office, role: "computer", name: field.slice(1) }

const Change = { office: Schema.String, from: Schema.Finite, to: Schema.Finite }
const Message = Schema.Union([
  Schema.Struct({ ...Change, entered: MemberWire }),
  Schema.Struct({
    ...Change,
    left: Schema.Struct({ sid: Schema.String, field: Schema.String, replaced: Schema.Boolean })
  }),
  Schema.Struct({ office: Schema.String, to: Schema.Finite, all: Schema.Array(MemberWire) }),
  Schema.Struct({ gone: Schema.String })
])

/** Reads what a node hears on its channel. */
export const readMessage = Schema.decodeUnknownResult(Schema.fromJsonString(Message))

/** What the scripts give. */
export const readReconciled = Schema.decodeUnknownEffect(
  Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Array(Schema.String), Schema.Finite])
)
export const readRenewed = Schema.decodeUnknownEffect(
  Schema.Tuple([Schema.Literals(["ok", "gone"]), Schema.Finite, Schema.Finite])
)
export const readJoined = Schema.decodeUnknownEffect(
  Schema.Literals(["in", "late", "gone", "taken", "office full", "too many offices"])
)
export const readSnapshot = Schema.decodeUnknownEffect(
  Schema.Tuple([
    Schema.Literals(["ok", "gone"]),
    Schema.FiniteFromString,
    Schema.FiniteFromString,
    Schema.Array(Schema.fromJsonString(MemberWire))
  ])
)
