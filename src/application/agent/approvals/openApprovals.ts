import { Effect, Option, Queue, SubscriptionRef } from "effect"
import type { ApprovalView } from "../../../domain/approvals/ApprovalView.ts"
import type { AgentRequests } from "../AgentRequests.ts"
import type { WaitObserver } from "../callStatuses.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"

/**
 * Keeps the approvals for which calls of an Agent wait. It fetches those of a Computer when the status of a call tells of a
 * change, and drops the approval of a call that ends: a Computer does not report those that expire.
 */
export const makeOpenApprovals = Effect.fnUntraced(function* (
  /** Whether the Computer lets Agents decide; of others only the questions of MCP servers are fetched. */
  letsAgentsDecide: (computer: ComputerName) => boolean = () => true
) {
  const open = yield* SubscriptionRef.make<ReadonlyArray<ApprovalView>>([])
  const changed = yield* Queue.unbounded<string>()
  /** The Computers of the approvals for which calls wait. */
  const waiting = new Map<string, ComputerName>()

  const replace = (computer: ComputerName, approvals: ReadonlyArray<ApprovalView>) =>
    SubscriptionRef.update(open, (known) => [
      ...known.filter((one) => one.computer !== computer),
      ...approvals.filter(({ id }) => waiting.has(id))
    ])

  const observer: WaitObserver = {
    onWait: ({ id, isQuestion }, computer) => {
      if (isQuestion !== true && !letsAgentsDecide(computer)) return Effect.void
      waiting.set(id, computer)
      return Effect.asVoid(Queue.offer(changed, computer))
    },
    onDecided: (computer) =>
      [...waiting.values()].includes(computer) ? Effect.asVoid(Queue.offer(changed, computer)) : Effect.void,
    onEnd: (approval) => {
      waiting.delete(approval)
      return SubscriptionRef.updateSome(open, (known) => {
        const others = known.filter(({ id }) => id !== approval)
        return others.length < known.length ? Option.some(others) : Option.none()
      })
    }
  }
  return {
    observer,
    /** The connection was lost: the calls have ended. */
    clear: SubscriptionRef.set(open, []),
    /** Fetches the approvals of the Computers that report them, as long as the scope. */
    follow: ({ getApprovals }: Pick<AgentRequests, "getApprovals">) =>
      Effect.gen(function* () {
        const computer = yield* Queue.take(changed)
        // Fails when it has left, or does not let Agents decide after all.
        yield* replace(computer, yield* Effect.orElseSucceed(getApprovals(computer), () => []))
      }).pipe(Effect.forever, Effect.forkScoped),
    changes: SubscriptionRef.changes(open)
  }
})
