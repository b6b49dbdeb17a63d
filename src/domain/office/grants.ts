import type { Option } from "effect"
import type { Role } from "../protocol/v0_2/office.ts"
import type { Identity } from "./identity.ts"
import type { Seat } from "./membership.ts"

/**
 * Does a pattern cover a text? `*` stands for any characters, or none; everything else stands for itself. Takes no more
 * comparisons than the text is long times the pattern is long, whatever they hold.
 */
export const covers = (pattern: string, text: string): boolean => {
  const [first = "", ...others] = pattern.split("*")
  const last = others.pop()
  if (last === undefined) return text === first
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last))
    return false
  // The earliest place of each piece leaves the most room for the others, so no other one has to be tried.
  const end = text.length - last.length
  let from = first.length
  for (const piece of others) {
    const found = text.indexOf(piece, from)
    if (found < 0 || found + piece.length > end) return false
    from = found + piece.length
  }
  return true
}

const anyCovers = (patterns: ReadonlyArray<string>, text: string): boolean =>
  patterns.some((pattern) => covers(pattern, text))

const memberRights: ReadonlyArray<Role> = ["agent", "computer"]

const article = (role: Role): string => (role === "agent" ? "an Agent" : "a Computer")

/** Why this identity may not be a member of this role, or of any when it states none; `undefined` when it may. */
export const mayConnect = ({ grants, subject }: Identity, role: Option.Option<Role>): string | undefined => {
  if (role._tag === "None") {
    return memberRights.some((right) => grants.rights.includes(right))
      ? undefined
      : `'${subject}' may be neither an Agent nor a Computer`
  }
  return grants.rights.includes(role.value) ? undefined : `'${subject}' may not be ${article(role.value)}`
}

/** Why this identity may not take this seat; `undefined` when it may. */
export const mayJoin = ({ grants, subject }: Identity, { name, office, role }: Seat): string | undefined => {
  if (!grants.rights.includes(role)) return `'${subject}' may not be ${article(role)}`
  if (!anyCovers(grants.offices, office)) return `'${subject}' may not join room '${office}'`
  return anyCovers(grants.names, name) ? undefined : `'${subject}' may not go by the name '${name}'`
}
