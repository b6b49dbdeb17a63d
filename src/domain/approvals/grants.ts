import type { Approval } from "./Approval.ts"

/** An office: offices of one id on different protocol lines are different ones. */
export interface CallPlace {
  readonly office: string
  readonly line: string
}

const isSamePlace = (one: Partial<CallPlace> | undefined, other: Partial<CallPlace> | undefined): boolean =>
  one?.office === other?.office && one?.line === other?.line

/** True when a grant covers the calls of an approval: of the same tool, in the same office. */
export const coversApproval = (grant: Grant, approval: Pick<Approval, "toolDigest" | "office" | "line">): boolean =>
  grant.toolDigest === approval.toolDigest && isSamePlace(grant, approval)

/** A lasting allowance: calls of this tool in this office run without a question. */
export interface Grant {
  readonly id: string
  /** Missing for calls from outside an office. */
  readonly office?: string
  readonly line?: string
  readonly server: string
  /** The exposed name of the tool when it was allowed. */
  readonly tool: string
  /** The allowance ends when the tool changes. */
  readonly toolDigest: string
  /** Milliseconds of the epoch; missing for an allowance without an end. */
  readonly until?: number
  readonly by: string
  readonly at: number
}

/** Grants of a Computer. The oldest ones are dropped first. */
export const maxGrants = 1000

export const isExpired = ({ until }: Pick<Grant, "until">, now: number): boolean => until !== undefined && until <= now

/** Finds the grant that covers a call of a tool at a place; no place means outside an office. */
export const findGrant = (
  grants: ReadonlyArray<Grant>,
  toolDigest: string,
  place: CallPlace | undefined,
  now: number
): Grant | undefined =>
  grants.find((grant) => grant.toolDigest === toolDigest && isSamePlace(grant, place) && !isExpired(grant, now))

/** Adds a grant in place of the one for the same tool and office, and drops the expired ones. */
export const addGrant = (grants: ReadonlyArray<Grant>, added: Grant, now: number): ReadonlyArray<Grant> => {
  const others = grants.filter((grant) => !isExpired(grant, now) && !coversApproval(grant, added))
  return [...others, added].slice(-maxGrants)
}
