import type { Membership } from "./Membership.ts"

/** The parts of a Computer that can change under way. */
export const computerParts = ["config", "toolList", "desktop", "finder"] as const
export type ComputerPart = (typeof computerParts)[number]

/** What an office is told. A notice about a member never goes to that member (spec §3.4). */
export type Notification =
  | { readonly _tag: "Entered"; readonly membership: Membership }
  | { readonly _tag: "Left"; readonly membership: Membership }
  | { readonly _tag: "Updated"; readonly part: ComputerPart; readonly computer: string }
  | { readonly _tag: "Cancelled"; readonly agent: string; readonly reqId: string }
