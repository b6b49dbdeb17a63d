import type { Option } from "effect"
import type { Role } from "../model/Role.ts"
import type { Identity } from "../model/Identity.ts"
import type { Membership } from "../model/Membership.ts"

/**
 * Does a pattern cover a text? `*` stands for any characters, or none; everything else stands for itself. Takes no more
 * comparisons than the text is long times the pattern is long, whatever they hold.
 */
export const matchesPattern = (pattern: string, text: string): boolean => {
  const [head = "", ...others] = pattern.split("*")
  const tail = others.pop()
  if (tail === undefined) return text === head
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false
  // The earliest place of each piece leaves the most room for the others, so no other one has to be tried.
  const end = text.length - tail.length
  let from = head.length
  for (const piece of others) {
    const found = text.indexOf(piece, from)
    if (found < 0 || found + piece.length > end) return false
    from = found + piece.length
  }
  return true
}

const matchesAnyPattern = (patterns: ReadonlyArray<string>, text: string): boolean =>
  patterns.some((pattern) => matchesPattern(pattern, text))

const memberRoles: ReadonlyArray<Role> = ["agent", "computer"]

const roleWithArticle = (role: Role): string => (role === "agent" ? "an Agent" : "a Computer")

/** Why this identity may not be a member of this role, or of any when it states none; `undefined` when it may. */
export const checkConnectRights = (
  { grants, subject }: Identity,
  role: Option.Option<Role>
): string | undefined => {
  if (role._tag === "None") {
    return memberRoles.some((right) => grants.rights.includes(right))
      ? undefined
      : `'${subject}' may be neither an Agent nor a Computer`
  }
  return grants.rights.includes(role.value)
    ? undefined
    : `'${subject}' may not be ${roleWithArticle(role.value)}`
}

/** Why this identity may not take this seat; `undefined` when it may. */
export const checkJoinRights = (
  { grants, subject }: Identity,
  { name, office, role }: Membership
): string | undefined => {
  if (!grants.rights.includes(role)) return `'${subject}' may not be ${roleWithArticle(role)}`
  if (!matchesAnyPattern(grants.offices, office)) return `'${subject}' may not join room '${office}'`
  return matchesAnyPattern(grants.names, name) ? undefined : `'${subject}' may not go by the name '${name}'`
}
