import { Data, Option, Schema } from "effect"
import { optionalField } from "./fields.ts"
import { type OfficeId, officeIdOf, type OfficeKey, type SessionId } from "./ids.ts"
import { retryableMessage } from "./ProtocolError.ts"

export const Role = Schema.Literals(["agent", "computer"])
export type Role = typeof Role.Type

/** As `Schema.is(Role)`, but faster. */
export const isRole = (value: unknown): value is Role => value === "agent" || value === "computer"

/** One object for the role of thousands of sessions. */
export const someRole = { agent: Option.some<Role>("agent"), computer: Option.some<Role>("computer") }

export interface Membership {
  readonly office: OfficeKey
  readonly role: Role
  readonly name: string
}

/** A membership as members and people see it. */
export interface PublicMembership extends Omit<Membership, "office"> {
  readonly office: OfficeId
}

/** A membership with the id of its office instead of the key. */
export const publicMembership = ({ name, office, role }: Membership | PublicMembership): PublicMembership => ({
  office: officeIdOf(office),
  role,
  name
})

/** A connection. The handshake or the first join fixes its role. */
export interface Session {
  readonly sid: SessionId
  readonly node: string
  readonly version: string
  readonly role: Option.Option<Role>
  readonly membership: Option.Option<Membership>
  /** The time of its join in epoch milliseconds; missing outside an office. */
  readonly joinedAt?: number | undefined
  /** A secret that identifies the member of an old connection for a takeover. Empty: no takeover. */
  readonly reconnectKey: string
  /** The authenticated subject; empty without authentication. */
  readonly subject: string
}

/** A member of an office, as all nodes of a cluster know it. */
export interface Member extends Pick<Session, "sid" | "node" | "version"> {
  readonly membership: Membership
  /** The revision of the join. Later joins have greater ones. */
  readonly joinRevision: number
  /** The time of the join in epoch milliseconds; missing for a member of a node without this field. */
  readonly joinedAt?: number | undefined
}

/** `SessionInfo`: a member in a list of an office. The version is for display only. */
export const SessionInfo = Schema.Struct({
  sid: Schema.String,
  name: Schema.String,
  role: Role,
  officeId: Schema.String,
  version: optionalField(Schema.String)
})
export type SessionInfo = typeof SessionInfo.Type

/** A rejected join or leave; the acknowledgement carries `message` (spec §3.2, §3.3). */
export class MembershipError extends Data.TaggedError("MembershipError")<{
  readonly reason:
    | "not_connected"
    | "role_mismatch"
    | "name_mismatch"
    | "agent_exists"
    | "agent_in_other_office"
    | "name_taken"
    | "not_in_office"
    | "office_full"
    | "too_many_offices"
    | "malformed"
    | "unavailable"
  readonly message: string
}> {}

export const makeMembershipError = (reason: MembershipError["reason"], message: string) =>
  new MembershipError({ reason, message })

export const registryUnavailable = () =>
  makeMembershipError("unavailable", retryableMessage("The office registry is unavailable"))

export const officeFull = (office: OfficeKey) =>
  makeMembershipError("office_full", `Office '${officeIdOf(office)}' is full`)

export const tooManyOffices = () =>
  makeMembershipError("too_many_offices", retryableMessage("The Server has as many offices as it may"))

export const notConnected = () => makeMembershipError("not_connected", "Not connected")
