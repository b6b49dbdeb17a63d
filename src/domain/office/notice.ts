import type { Seat } from "./membership.ts"

/** The parts of a Computer that can change under way. */
export const parts = ["config", "toolList", "desktop", "finder"] as const
export type Part = (typeof parts)[number]

/** What an office is told. A notice about a member never goes to that member (spec §3.4). */
export type Notice =
  | { readonly _tag: "Entered"; readonly seat: Seat }
  | { readonly _tag: "Left"; readonly seat: Seat }
  | { readonly _tag: "Updated"; readonly part: Part; readonly computer: string }
  | { readonly _tag: "Cancelled"; readonly agent: string; readonly reqId: string }
