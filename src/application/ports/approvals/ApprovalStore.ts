import { Context, Data, Effect, Layer } from "effect"
import { noApprovals, type StoredApprovals } from "../../../domain/approvals/standingApprovals.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"

/** The approvals cannot be read or written. The message names the location. */
export class ApprovalsUnavailable extends Data.TaggedError("ApprovalsUnavailable")<{ readonly message: string }> {}

/** Keeps the grants and the approved definitions of tools of Computers, by the name of a Computer. */
export class ApprovalStore extends Context.Service<
  ApprovalStore,
  {
    /**
     * Where the configuration of the Computer comes from, when several ones share the store. A tool of another source is
     * another tool, and is not compared with an approved one of the same name.
     */
    readonly configSource?: string | undefined
    /** What was saved last; nothing for an unknown Computer. */
    readonly load: (computer: ComputerName) => Effect.Effect<StoredApprovals, ApprovalsUnavailable>
    readonly save: (computer: ComputerName, approvals: StoredApprovals) => Effect.Effect<void, ApprovalsUnavailable>
  }
>()("a2c-smcp/application/ports/approvals/ApprovalStore") {
  /** Keeps nothing: grants and approved definitions end with the Computer. */
  static readonly layerNone: Layer.Layer<ApprovalStore> = Layer.succeed(ApprovalStore, {
    load: () => Effect.succeed(noApprovals),
    save: () => Effect.void
  })
}
