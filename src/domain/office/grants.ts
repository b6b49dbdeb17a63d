import { Option, Result } from "effect"
import { maxIdentifierLength } from "../model/fields.ts"
import type { Grants, Identity } from "../model/Identity.ts"
import { type PublicMembership, Role } from "../model/Membership.ts"
import { checkName } from "../model/names.ts"
import { matchesPattern } from "../wildcard.ts"

const matchesAnyPattern = (patterns: ReadonlyArray<string>, text: string): boolean =>
  patterns.some((pattern) => matchesPattern(pattern, text))

const checkRole = ({ grants, subject }: Identity, role: Role): string | undefined =>
  grants.rights.includes(role) ? undefined : `'${subject}' may not be ${role === "agent" ? "an Agent" : "a Computer"}`

/** Gives the reason why an identity must not connect; without a role in the handshake it needs the right to any. */
export const checkConnectRights = (identity: Identity, role: Option.Option<Role>): string | undefined => {
  if (Option.isSome(role)) return checkRole(identity, role.value)
  return Role.literals.some((right) => identity.grants.rights.includes(right))
    ? undefined
    : `'${identity.subject}' may be neither an Agent nor a Computer`
}

/** Gives the reason why an identity must not join as this member; `undefined` when it may. */
export const checkJoinRights = (identity: Identity, { name, office, role }: PublicMembership): string | undefined => {
  const { grants, subject } = identity
  const reason = checkRole(identity, role)
  if (reason !== undefined) return reason
  if (!matchesAnyPattern(grants.offices, office)) return `'${subject}' may not join office '${office}'`
  return matchesAnyPattern(grants.names, name) ? undefined : `'${subject}' may not use the name '${name}'`
}

/** The grants of one member and no other; a reason if patterns cannot name it alone. */
export const grantsOfMember = ({ name, office, role }: PublicMembership): Result.Result<Grants, string> => {
  const problems = Object.entries({ office, name }).map(([field, text]) =>
    text === "" || text.includes("*")
      ? `${field} must not be empty, nor contain '*', which stands for any characters in a token`
      : checkName(field, text, maxIdentifierLength)
  )
  const problem = problems.find((one) => one !== undefined)
  return problem === undefined
    ? Result.succeed({ rights: [role], offices: [office], names: [name] })
    : Result.fail(problem)
}
