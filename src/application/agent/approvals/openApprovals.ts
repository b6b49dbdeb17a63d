import { Effect, Option, Queue, type Scope, type Stream, SubscriptionRef } from "effect"
import type { ApprovalView } from "../../../domain/approvals/ApprovalView.ts"
import type { AgentRequests } from "../AgentRequests.ts"
import type { WaitObserver } from "../callStatuses.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"

interface OpenApprovals {
  readonly observer: WaitObserver
  /** The connection was lost: the calls have ended. */
  readonly clear: Effect.Effect<void>
  /** Fetches the approvals of the Computers that report them, as long as the scope. */
  readonly follow: (requests: Pick<AgentRequests, "getApprovals">) => Effect.Effect<void, never, Scope.Scope>
  readonly changes: Stream.Stream<ReadonlyArray<ApprovalView>>
}

/**
 * Keeps the approvals for which calls of an Agent wait. It fetches those of a Computer when the status of a call tells of a
 * change, and drops the approval of a call that ends: a Computer does not report those that expire.
 */
export const makeOpenApprovals: Effect.Effect<OpenApprovals> = Effect.gen(function* () {
  const open = yield* SubscriptionRef.make<ReadonlyArray<ApprovalView>>([])
  const changed = yield* Queue.unbounded<string>()
  /** The approvals of the calls that run. */
  const waiting = new Set<string>()

  const replace = (computer: ComputerName, approvals: ReadonlyArray<ApprovalView>) =>
    SubscriptionRef.update(open, (known) => [
      ...known.filter((one) => one.computer !== computer),
      ...approvals.filter(({ id }) => waiting.has(id))
    ])

  const fetch = ({ getApprovals }: Pick<AgentRequests, "getApprovals">) =>
    Effect.flatMap(Queue.take(changed), (computer) =>
      Effect.matchEffect(getApprovals(computer), {
        onSuccess: (approvals) => replace(computer, approvals),
        // Its owner does not let Agents decide, or it has left.
        onFailure: () => replace(computer, [])
      })
    )

  return {
    observer: {
      onWait: (approval, computer) => {
        waiting.add(approval)
        return Effect.asVoid(Queue.offer(changed, computer))
      },
      onDecided: (computer) => Effect.asVoid(Queue.offer(changed, computer)),
      onEnd: (approval) => {
        waiting.delete(approval)
        return SubscriptionRef.updateSome(open, (known) =>
          known.some(({ id }) => id === approval)
            ? Option.some(known.filter(({ id }) => id !== approval))
            : Option.none()
        )
      }
    },
    clear: SubscriptionRef.set(open, []),
    follow: (requests) => Effect.asVoid(Effect.forkScoped(Effect.forever(fetch(requests)))),
    changes: SubscriptionRef.changes(open)
  }
})
