import type { ByteBudget } from "./FrameReassembler.ts"
import type { LinkDiagnostics } from "./LinkDiagnostics.ts"

/** What all peers of one node share. */
export interface LinkContext {
  readonly diagnostics: LinkDiagnostics
  /** Memory for incomplete bodies of all nodes. */
  readonly reassemblyBudget: ByteBudget
  /** Request ids. All peers share them, since the id of a removed peer must not return at once. */
  readonly nextId: () => number
  /** Milliseconds between two ticks. */
  readonly tickMillis: number
}
