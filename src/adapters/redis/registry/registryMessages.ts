import { Schema } from "effect"
import { type Member, type Membership, Role } from "../../../domain/model/Membership.ts"
import { nameKey } from "../../../domain/model/names.ts"

const MemberJson = Schema.Struct({
  joinRevision: Schema.Finite,
  sid: Schema.String,
  node: Schema.String,
  version: Schema.String,
  membership: Schema.Struct({ office: Schema.String, role: Role, name: Schema.String }),
  joinedAt: Schema.optionalKey(Schema.Finite)
}).pipe(Schema.encodeKeys({ joinRevision: "since", membership: "seat", joinedAt: "at" }))

/** Encodes a member for the scripts, which add its join revision. Nodes of older versions ignore `at` and `owner`. */
export const encodeMember = (
  { joinedAt, node, membership, sid, version }: Omit<Member, "joinRevision">,
  owner: string
): string => JSON.stringify({ sid, node, version, seat: membership, at: joinedAt, owner })

/** The field of a membership in an office's hash: an office has one Agent, and one Computer for each key of a name. */
export const memberField = ({ name, role }: Omit<Membership, "office">): string =>
  role === "agent" ? "a" : `c${nameKey(name)}`

/** The membership of a field, with the key of a name instead of the name. The name of an Agent is not part of it. */
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

export const decodeMessage = Schema.decodeUnknownResult(Schema.fromJsonString(RegistryMessage))

export const decodeReconciled = Schema.decodeUnknownEffect(
  Schema.Tuple([Schema.Finite, Schema.Array(Schema.String), Schema.Array(Schema.String), Schema.Finite])
)
export const decodeRenewed = Schema.decodeUnknownEffect(
  Schema.Tuple([Schema.Literals(["ok", "unknown_node"]), Schema.Array(Schema.String), Schema.Finite])
)
/** A taken membership comes with the name of its member, and the time of its join, which is empty when unknown. */
export const decodeJoined = Schema.decodeUnknownEffect(
  Schema.Union([
    Schema.Literals(["joined", "expired", "unknown_node", "office_full", "too_many_offices"]),
    Schema.Tuple([Schema.Literal("taken"), Schema.String, Schema.String])
  ])
)
export const decodeInUse = Schema.decodeUnknownEffect(Schema.Array(Schema.Literals([0, 1])))
export const decodeSnapshot = Schema.decodeUnknownEffect(
  Schema.Tuple([
    Schema.Literals(["ok", "unknown_node"]),
    Schema.FiniteFromString,
    Schema.FiniteFromString,
    Schema.Array(Schema.fromJsonString(MemberJson))
  ])
)
