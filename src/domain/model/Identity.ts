import { Schema } from "effect"
import { Role } from "./Membership.ts"

/** A right at a Server: to join as a role, or to read the status of the Server. */
export const Right = Schema.Literals([...Role.literals, "operator"])
export type Right = typeof Right.Type

/** The rights of an identity, and patterns for offices and names in which `*` stands for any run of characters. */
export interface Grants {
  readonly rights: ReadonlyArray<Right>
  readonly offices: ReadonlyArray<string>
  readonly names: ReadonlyArray<string>
}

/** An authenticated identity. */
export interface Identity {
  /** The name for logs and the audit, not a secret. */
  readonly subject: string
  /** Different clients have this subject: it does not tell them apart. */
  readonly isShared?: boolean
  readonly grants: Grants
  /** The expiry in epoch milliseconds; `undefined` without one. */
  readonly expiresAt: number | undefined
}

/** All rights in every office under any name. */
export const allGrants: Grants = { rights: ["agent", "computer", "operator"], offices: ["*"], names: ["*"] }
