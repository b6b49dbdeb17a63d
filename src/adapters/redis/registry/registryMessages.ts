import { Schema } from "effect"
import type { Member, Membership } from "../../../domain/model/Membership.ts"
import { Role } from "../../../domain/model/Role.ts"

const MemberJson = Schema.Struct({
  joinRevision: Schema.Finite,
  sid: Schema.String,
  node: Schema.String,
  version: Schema.String,
  membership: Schema.Struct({ office: Schema.String, role: Role, name: Schema.String })
}).pipe(Schema.encodeKeys({ joinRevision: "since", membership: "seat" }))

/** A member as the scripts take it: they add the revision with which it enters. */
export const encodeMember = ({ node, membership, sid, version }: Omit<Member, "joinRevision">): string =>
  JSON.stringify({ sid, node, version, seat: membership })

/** The field of an office's hash that stands for a seat: an office has one Agent, and one Computer of a name. */
export const memberField = ({ name, role }: Membership): string => (role === "agent" ? "a" : `c${name}`)

/** The seat of a field. The name of an Agent is not in it. */
export const membershipOfField = (office: string, field: string): Membership =>
  field === "a" ? { office, role: "agent", name: "" } : { office, role: "computer", name: field.slice(1) }

const changeFields = { office: Schema.String, from: Schema.Finite, to: Schema.Finite }
const RegistryMessage = Schema.Union([
  Schema.Struct({ ...changeFields, entered: MemberJson }),
  Schema.Struct({
    ...changeFields,
    left: Schema.Struct({ sid: Schema.String, field: Schema.String, replaced: Schema.Boolean })
  }),
  Schema.Struct({ office: Schema.String, to: Schema.Finite, all: Schema.Array(MemberJson) }),
  Schema.Struct({ gone: Schema.String })
])

/** Reads what a node hears on its channel. */
export const decodeMessage = Schema.decodeUnknownResult(Schema.fromJsonString(RegistryMessage))

/** What the scripts give. */
export const decodeReconciled = Schema.decodeUnknownEffect(
  Schema.Tuple([Schema.Finite, Schema.Finite, Schema.Array(Schema.String), Schema.Finite])
)
export const decodeRenewed = Schema.decodeUnknownEffect(
  Schema.Tuple([Schema.Literals(["ok", "gone"]), Schema.Finite, Schema.Finite])
)
export const decodeJoined = Schema.decodeUnknownEffect(
  Schema.Literals(["in", "late", "gone", "taken", "office full", "too many offices"])
)
export const decodeSnapshot = Schema.decodeUnknownEffect(
  Schema.Tuple([
    Schema.Literals(["ok", "gone"]),
    Schema.FiniteFromString,
    Schema.FiniteFromString,
    Schema.Array(Schema.fromJsonString(MemberJson))
  ])
)
