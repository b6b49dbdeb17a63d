import { Context } from "effect"
import type { Membership } from "../../../domain/model/Membership.ts"

/** Who came, who went, and who was not let in. */
export type MembershipEvent =
  | {
      readonly _tag: "Entered" | "Left"
      readonly sid: string
      readonly membership: Membership
      /** Who that is by the word of the authenticator; `undefined` where nobody is asked. */
      readonly subject: string | undefined
    }
  | {
      /** A connection that was not let in. */
      readonly _tag: "ConnectionRefused"
      readonly sid: string
      readonly remoteAddress: string
      readonly code: number
      readonly reason: string
    }
  | {
      /** A member that was not let into an office. */
      readonly _tag: "JoinRefused"
      readonly sid: string
      readonly subject: string | undefined
      readonly reason: string
    }

/** Those who want to know who enters and leaves: metrics, the audit. They are called at once and must not throw. */
export const MembershipObservers = Context.Reference<ReadonlyArray<(event: MembershipEvent) => void>>(
  "a2c-smcp/application/server/EntryObservers",
  { defaultValue: () => [] }
)
