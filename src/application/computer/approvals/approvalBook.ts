import { Clock, Deferred, Duration, Effect, Result, Semaphore, type Stream, SubscriptionRef } from "effect"
import type { Approval, ApprovalAnswer, ApprovalDecision } from "../../../domain/approvals/Approval.ts"
import {
  type ApprovalsCommand,
  type ApprovalsEvent,
  type ApprovalsState,
  findOpen,
  type PendingApproval,
  transitionApprovals,
  withoutAgentApprovals
} from "../../../domain/approvals/approvalsState.ts"
import { noApprovals, type StoredApprovals } from "../../../domain/approvals/StoredApprovals.ts"
import { ApprovalStore } from "../../ports/approvals/ApprovalStore.ts"
import { ComputerSettings } from "../ComputerSettings.ts"

/** How long an approval may wait. */
export interface WaitLimit {
  /** The wait at most, while the caller does not wait longer. */
  readonly limit: Duration.Duration
  /** The wait at most, when it does; the approval timeout by default. */
  readonly extended?: Duration.Duration
  /** Tells the caller that the call waits. True when the caller waits for the whole approval timeout. */
  readonly announce: (approval: Approval) => Effect.Effect<boolean>
}

/** How an approval ended; the answer is that to an elicitation. */
interface Outcome {
  readonly decision: ApprovalDecision
  readonly answer?: ApprovalAnswer
}

/** Loads what a Computer keeps about approvals, and makes the function that stores it. */
const loadApprovals = Effect.fnUntraced(function* (computer: string, current: () => StoredApprovals) {
  const store = yield* ApprovalStore
  const saveLock = yield* Semaphore.make(1)
  const loaded = yield* Effect.result(store.load(computer))
  if (Result.isFailure(loaded)) {
    yield* Effect.logError("stored approvals not loaded", { reason: loaded.failure.message })
    // What could not be read must not be overwritten.
    return { stored: noApprovals, save: Effect.void }
  }
  const save = Effect.catch(
    saveLock.withPermit(Effect.suspend(() => store.save(computer, withoutAgentApprovals(current())))),
    ({ message: reason }) => Effect.logError("approvals not saved", { reason })
  )
  return { stored: withoutAgentApprovals(loaded.success), save }
})

/** The approvals of a Computer in the states of {@link transitionApprovals}, and the calls that wait for them. */
export const makeApprovalBook = Effect.fnUntraced(function* (computer: string) {
  const { approvalTimeout } = yield* ComputerSettings
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const { save, stored } = yield* loadApprovals(computer, () => state.stored)
  let state: ApprovalsState = { open: [], decided: [], stored, approvedCalls: [] }
  const openNow = () => state.open.map(({ approval }) => approval)
  const open = yield* SubscriptionRef.make<ReadonlyArray<Approval>>([])
  const waiting = new Map<string, Deferred.Deferred<Outcome>>()

  /** Changes the state at once: the first of two events counts. */
  const change = (event: ApprovalsEvent): ReadonlyArray<ApprovalsCommand> => {
    const [next, commands] = transitionApprovals(state, event)
    state = next
    return commands
  }

  // Uninterruptible: a decision interrupts the hook that made it, and an expiry its timer.
  const dispatch = (event: ApprovalsEvent) =>
    Effect.suspend(() => {
      const before = state.open
      const commands = change(event)
      for (const command of commands) {
        const outcome = command._tag === "End" ? waiting.get(command.id) : undefined
        if (command._tag === "End" && outcome !== undefined) Deferred.doneUnsafe(outcome, Effect.succeed(command))
      }
      const publish = state.open === before ? Effect.void : SubscriptionRef.update(open, openNow)
      const store = commands.some(({ _tag }) => _tag === "Save") ? save : Effect.void
      return Effect.as(Effect.andThen(publish, store), commands)
    }).pipe(Effect.uninterruptible)

  /** Waits for the outcome of an approval, which the hooks and approvers decide. Interruption cancels the approval. */
  const waitFor = (
    request: PendingApproval,
    { announce, extended = approvalTimeout }: WaitLimit,
    hooks: ReadonlyArray<Effect.Effect<never>>
  ): Effect.Effect<Outcome> => {
    const { id, requestedAt } = request.approval
    const outcome = Deferred.makeUnsafe<Outcome>()
    const announceWait = Effect.gen(function* () {
      const expiresAt = requestedAt + Duration.toMillis(extended)
      if (yield* announce(request.approval)) yield* dispatch({ _tag: "Extended", id, expiresAt })
      return yield* Effect.never
    })
    const left = () => (findOpen(state, id)?.approval.expiresAt ?? 0) - now()
    const expire = Effect.gen(function* () {
      while (left() > 0) yield* Effect.sleep(Duration.millis(left()))
      yield* dispatch({ _tag: "TimePassed", id, at: now() })
      return yield* Effect.never
    })
    return Effect.acquireUseRelease(
      Effect.suspend(() => {
        waiting.set(id, outcome)
        return dispatch({ _tag: "Requested", request })
      }),
      () => Effect.raceAllFirst([Deferred.await(outcome), ...hooks, announceWait, expire]),
      () =>
        Effect.suspend(() => {
          waiting.delete(id)
          return dispatch({ _tag: "CallEnded", id, at: now() })
        })
    )
  }

  const changes: Stream.Stream<ReadonlyArray<Approval>> = SubscriptionRef.changes(open)
  return { change, changes, dispatch, now, open: openNow, state: () => state, waitFor }
})

export type ApprovalBook = Effect.Success<ReturnType<typeof makeApprovalBook>>
