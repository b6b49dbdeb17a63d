import { Clock, Deferred, Duration, Effect, Result, Semaphore, SubscriptionRef } from "effect"
import type { Approval, ApprovalAnswer, ApprovalDecision, DecidedApproval } from "../../../domain/approvals/Approval.ts"
import {
  type ApprovalsCommand,
  type ApprovalsEvent,
  type ApprovalsState,
  findDecided,
  findOpen,
  type PendingApproval,
  transitionApprovals,
  withoutAgentApprovals
} from "../../../domain/approvals/approvalsState.ts"
import {
  type Grant,
  isExpired,
  isInForce,
  noApprovals,
  type StoredApprovals
} from "../../../domain/approvals/standingApprovals.ts"
import { ApprovalStore } from "../../ports/approvals/ApprovalStore.ts"
import { ComputerSettings } from "../ComputerSettings.ts"
import type { ComputerName } from "../../../domain/model/ids.ts"

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
type Outcome = { readonly decision: ApprovalDecision; readonly answer?: ApprovalAnswer }

/** Loads what a Computer keeps about approvals, and makes the function that stores it. */
const loadApprovals = Effect.fnUntraced(function* (computer: ComputerName, current: () => StoredApprovals) {
  const store = yield* ApprovalStore
  const saveLock = yield* Semaphore.make(1)
  const loaded = yield* Effect.result(store.load(computer))
  if (Result.isFailure(loaded)) {
    yield* Effect.logError("stored approvals not loaded", { reason: loaded.failure.message })
    // What could not be read must not be overwritten.
    return { store, stored: noApprovals, save: Effect.void }
  }
  const save = Effect.catch(
    saveLock.withPermit(Effect.suspend(() => store.save(computer, withoutAgentApprovals(current())))),
    ({ message: reason }) => Effect.logError("approvals not saved", { reason })
  )
  return { store, stored: withoutAgentApprovals(loaded.success), save }
})

/** The approvals of a Computer in the states of {@link transitionApprovals}. */
export const makeApprovalBook = Effect.fnUntraced(function* (computer: ComputerName) {
  const { approvers } = yield* ComputerSettings
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const { save, store, stored } = yield* loadApprovals(computer, () => state.stored)
  let state: ApprovalsState = { open: [], decided: [], stored, approvedCalls: [] }
  const waiting = new Map<string, Deferred.Deferred<Outcome>>()
  const open = () => state.open.map(({ approval }) => approval)
  const published = yield* SubscriptionRef.make<ReadonlyArray<Approval>>([])
  const isValid = (standing: Grant): boolean => !isExpired(standing, now()) && isInForce(standing, approvers)

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
      const publish = state.open === before ? Effect.void : SubscriptionRef.update(published, open)
      const saving = commands.some(({ _tag }) => _tag === "Save") ? save : Effect.void
      return Effect.as(Effect.andThen(publish, saving), commands)
    }).pipe(Effect.uninterruptible)

  return {
    configSource: store.configSource,
    dispatch,
    now,
    state: () => state,
    /** The outcomes of the open approvals, by their ids. */
    waiting,
    /** An approval, without a decision while it is open. */
    find: (id: string): (Pick<DecidedApproval, "approval"> & Partial<DecidedApproval>) | undefined =>
      findOpen(state, id) ?? findDecided(state, id),
    /** The open approvals, the oldest one first. */
    open,
    /** The open approvals now, then with every change. */
    changes: SubscriptionRef.changes(published),
    /** The latest decided approvals, the oldest one first. */
    decided: (): ReadonlyArray<DecidedApproval> => state.decided,
    /** The standing approvals that are valid now. */
    standing: (): ReadonlyArray<Grant> => state.stored.grants.filter(isValid),
    /** Ends a standing approval; false when none has this id. */
    revoke: (id: string): Effect.Effect<boolean> =>
      Effect.map(dispatch({ _tag: "Revoked", id }), (commands) => commands.length > 0),
    /** Ends the standing approvals that an Agent gave for its calls: its membership has ended. */
    forgetAgent: (): void => void change({ _tag: "AgentLeft" })
  }
})

export type ApprovalBook = Effect.Success<ReturnType<typeof makeApprovalBook>>

/** Waits for the outcome of an approval, which the hooks and approvers decide. Interruption cancels the approval. */
export const waitForOutcome = (
  { dispatch, now, state, waiting }: ApprovalBook,
  request: PendingApproval,
  { announce, extended }: Required<WaitLimit>,
  hooks: ReadonlyArray<Effect.Effect<never>>
): Effect.Effect<Outcome> => {
  const { id, requestedAt } = request.approval
  const outcome = Deferred.makeUnsafe<Outcome>()
  const announceWait = Effect.gen(function* () {
    const expiresAt = requestedAt + Duration.toMillis(extended)
    if (yield* announce(request.approval)) yield* dispatch({ _tag: "Extended", id, expiresAt })
    return yield* Effect.never
  })
  const left = () => (findOpen(state(), id)?.approval.expiresAt ?? 0) - now()
  const expire = Effect.gen(function* () {
    while (left() > 0) yield* Effect.sleep(Duration.millis(left()))
    yield* dispatch({ _tag: "TimePassed", id, at: now() })
    return yield* Effect.never
  })
  return Effect.acquireUseRelease(
    Effect.suspend(() => (waiting.set(id, outcome), dispatch({ _tag: "Requested", request }))),
    () => Effect.raceAllFirst([Deferred.await(outcome), ...hooks, announceWait, expire]),
    () => Effect.suspend(() => (waiting.delete(id), dispatch({ _tag: "CallEnded", id, at: now() })))
  )
}
