import { Schema } from "effect"
import { Role } from "./Role.ts"

/** What somebody may do at a Server: sit in offices as a role, or look at how the Server is. */
export const Right = Schema.Literals([...Role.literals, "operator"])
export type Right = typeof Right.Type

/** What an identity may do. Patterns are names in which `*` stands for any characters. */
export interface Grants {
  readonly rights: ReadonlyArray<Right>
  readonly offices: ReadonlyArray<string>
  readonly names: ReadonlyArray<string>
}

/** Who somebody is, by the word of an authenticator. */
export interface Identity {
  /** The name for logs and the audit; never a secret. */
  readonly subject: string
  readonly grants: Grants
  /** Milliseconds of the epoch after which it counts no longer; `undefined` when it does not end. */
  readonly expiresAt: number | undefined
}

/** All rights everywhere under any name. */
export const allGrants: Grants = { rights: ["agent", "computer", "operator"], offices: ["*"], names: ["*"] }
