import { Effect, Queue, type Scope, type Stream, SubscriptionRef } from "effect"
import type { ApprovalView } from "../../domain/approvals/ApprovalView.ts"
import type { CallStatus } from "../../domain/model/CallStatus.ts"
import type { AgentRequests } from "./AgentRequests.ts"

interface OpenApprovals {
  /** A call waits for an approval, or was decided. */
  readonly onStatus: (status: CallStatus) => Effect.Effect<void>
  /** The connection was lost: the calls have ended. */
  readonly clear: Effect.Effect<void>
  /** Fetches the approvals of the Computers that report them, as long as the scope. */
  readonly follow: (requests: Pick<AgentRequests, "getApprovals">) => Effect.Effect<void, never, Scope.Scope>
  readonly changes: Stream.Stream<ReadonlyArray<ApprovalView>>
}

/** Keeps the open approvals of an Agent current: fetches those of a Computer when the status of a call tells of a change. */
export const makeOpenApprovals: Effect.Effect<OpenApprovals> = Effect.gen(function* () {
  const open = yield* SubscriptionRef.make<ReadonlyArray<ApprovalView>>([])
  const changed = yield* Queue.unbounded<string>()

  const replace = (computer: string, approvals: ReadonlyArray<ApprovalView>) =>
    SubscriptionRef.update(open, (known) => [...known.filter((one) => one.computer !== computer), ...approvals])

  return {
    onStatus: (status) =>
      status._tag === "Decided" || (status._tag === "WaitingForConsent" && status.approval !== undefined)
        ? Effect.asVoid(Queue.offer(changed, status.computer))
        : Effect.void,
    clear: SubscriptionRef.set(open, []),
    follow: ({ getApprovals }) =>
      Queue.take(changed).pipe(
        Effect.flatMap((computer) =>
          Effect.matchEffect(getApprovals(computer), {
            onSuccess: (approvals) => replace(computer, approvals),
            // Its owner does not let Agents decide, or it has left.
            onFailure: () => replace(computer, [])
          })
        ),
        Effect.forever,
        Effect.forkScoped,
        Effect.asVoid
      ),
    changes: SubscriptionRef.changes(open)
  }
})
