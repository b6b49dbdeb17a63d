import { definedOnly } from "../objects.ts"
import {
  type Membership,
  type MembershipError,
  makeMembershipError,
  type PublicMembership,
  type Role
} from "../model/Membership.ts"
import { officeIdOf } from "../model/ids.ts"

/** The member that holds a membership, as far as a Server tells; `joinedAt` in epoch milliseconds. */
export interface CurrentMember {
  readonly name?: string
  readonly joinedAt?: number | undefined
}

const agentExists = "Room already has an agent"

const nameTaken = "already exists in room"

const roleNames: { readonly [R in Role]: string } = { agent: "Agent", computer: "Computer" }

const formatCurrent = ({ office, role }: Membership, { joinedAt, name }: CurrentMember): string => {
  const since = joinedAt === undefined ? "" : `, connected since ${new Date(joinedAt).toISOString()}`
  return name === undefined ? "" : `: office '${officeIdOf(office)}' has the ${roleNames[role]} '${name}'${since}`
}

/**
 * Another session holds the membership: an office has one Agent, and unique names of Computers. The message begins with
 * the text of line 0.2 (spec §3.2), and then names the current member.
 */
export const membershipConflict = (membership: Membership, current: CurrentMember): MembershipError => {
  const details = formatCurrent(membership, current)
  const { name, office, role } = membership
  return role === "agent"
    ? makeMembershipError("agent_exists", agentExists + details)
    : makeMembershipError("name_taken", `Computer with name '${name}' ${nameTaken} '${officeIdOf(office)}'${details}`)
}

const currentMember = /^(?<name>.*)'(?:, connected since (?<since>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z))?$/su

/**
 * Parses the message of a rejected join. Gives the current member when another member holds the membership, without
 * fields for a Server that does not name it. Gives `undefined` for other rejections.
 */
export const parseMembershipConflict = (
  { office, role }: Pick<PublicMembership, "office" | "role">,
  message: string
): CurrentMember | undefined => {
  if (!(role === "agent" ? message.startsWith(agentExists) : message.includes("already exists"))) return undefined
  const separator = `: office '${office}' has the ${roleNames[role]} '`
  const start = message.indexOf(separator)
  const { name, since } = (start < 0 ? null : currentMember.exec(message.slice(start + separator.length)))?.groups ?? {}
  const joinedAt = since === undefined ? Number.NaN : Date.parse(since)
  return definedOnly({ name, joinedAt: Number.isNaN(joinedAt) ? undefined : joinedAt })
}
