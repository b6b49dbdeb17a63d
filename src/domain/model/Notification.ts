import type { Membership } from "./Membership.ts"
import type { ComputerName, RequestId } from "./ids.ts"

/** The parts of a Computer that can change while it runs. */
export const computerParts = ["config", "toolList", "desktop", "finder", "skills"] as const
export type ComputerPart = (typeof computerParts)[number]

/** A notification for the members of an office. One about a member is never sent to that member (spec §3.4). */
export type Notification =
  | { readonly _tag: "Entered"; readonly membership: Membership }
  | { readonly _tag: "Left"; readonly membership: Membership }
  | { readonly _tag: "Updated"; readonly part: ComputerPart; readonly computer: ComputerName }
  | { readonly _tag: "Cancelled"; readonly agent: string; readonly reqId: RequestId }
