import { Data, Option } from "effect"
import type { Role } from "./Role.ts"
import { retryableMessage } from "./ProtocolError.ts"

/** A place in an office: who sits there, under which name. */
export interface Membership {
  readonly office: string
  readonly role: Role
  readonly name: string
}

/** One connection. Its role is fixed by the handshake or by its first join and never changes. */
export interface Session {
  readonly sid: string
  /** The Server of a cluster that holds the connection. */
  readonly node: string
  readonly version: string
  readonly role: Option.Option<Role>
  readonly membership: Option.Option<Membership>
  /** Proves that a newcomer is the same member come back; a secret. Empty proves nothing. */
  readonly reconnectKey: string
}

/** Somebody who sits in an office, as all Servers of a cluster know it. */
export interface Member {
  readonly sid: string
  readonly node: string
  readonly version: string
  readonly membership: Membership
  /** The revision with which it entered: later ones are greater. */
  readonly joinRevision: number
}

/** Why a join or a leave is refused; `message` is what the acknowledgement says (spec §3.2, §3.3). */
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

/** The seat is another's: an office has one Agent, and one Computer of a name. */
export const membershipConflict = ({ name, office, role }: Membership): MembershipError =>
  role === "agent"
    ? makeMembershipError("agent_exists", "Room already has an agent")
    : makeMembershipError("name_taken", `Computer with name '${name}' already exists in room '${office}'`)

/** What is needed to decide cannot be reached right now. */
export const registryUnavailable = (): MembershipError =>
  makeMembershipError("unavailable", retryableMessage("The office registry is unavailable"))

/** The office has as many members as it may. */
export const officeFull = (office: string): MembershipError =>
  makeMembershipError("office_full", `Room '${office}' is full`)

/** There are as many offices as there may be. */
export const tooManyOffices = (): MembershipError =>
  makeMembershipError("too_many_offices", retryableMessage("The Server has as many rooms as it may"))

export const notConnected = () => makeMembershipError("not_connected", "Not connected")
