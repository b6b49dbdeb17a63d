import { Effect, Layer } from "effect"
import { ApprovalStore } from "../../../src/application/ports/approvals/ApprovalStore.ts"
import { noApprovals, type StoredApprovals } from "../../../src/domain/approvals/standingApprovals.ts"

/** Keeps approvals until the process ends. */
export const layer: Layer.Layer<ApprovalStore> = Layer.sync(ApprovalStore, () => {
  const kept = new Map<string, StoredApprovals>()
  return ApprovalStore.of({
    load: (computer) => Effect.sync(() => kept.get(computer) ?? noApprovals),
    save: (computer, approvals) => Effect.sync(() => void kept.set(computer, approvals))
  })
})
