import { Deferred, Duration, Effect, Exit, Option } from "effect"
import type { OfficeKey, SessionId } from "../../../domain/model/ids.ts"
import { checkJoin, type JoinTerms, type Capacity } from "../../../domain/office/decideMembership.ts"
import {
  makeMembershipError,
  officeFull,
  registryUnavailable,
  type Membership,
  type Session,
  tooManyOffices
} from "../../../domain/model/Membership.ts"
import { membershipConflict } from "../../../domain/office/membershipConflict.ts"
import type { RegistryContext, RegistryEvents } from "./RegistryEvents.ts"
import { scriptTimeout } from "./ScriptRunner.ts"

/** How long a join waits for its echo on the channel before it reads a snapshot. */
const echoTimeout = Duration.millis(500)

const maxJoinAttempts = 4

const malformedName = makeMembershipError("malformed", "The names of members and rooms must be well-formed Unicode")

/** Makes the join of a session. When it returns, the join has been emitted to this node. */
export const makeJoinOffice = (
  { gracePeriod, isReady, local, scripts, sync }: RegistryContext,
  events: RegistryEvents
) => {
  const isJoined = (sid: SessionId, office: OfficeKey): boolean =>
    Option.exists(local.membership(sid), (membership) => membership.office === office)

  /** Waits for the echo of a join on the channel: it keeps the order of changes. */
  const awaitJoinEcho = Effect.fnUntraced(function* (
    sid: SessionId,
    office: OfficeKey,
    onEntered: Deferred.Deferred<void>
  ) {
    if (isJoined(sid, office)) return
    const echoed = yield* Effect.timeoutOption(Deferred.await(onEntered), echoTimeout)
    // The session may have lost its membership again.
    if (Option.isSome(echoed) || isJoined(sid, office)) return
    yield* Effect.ignore(events.refresh(office))
    if (isJoined(sid, office)) return
    sync.markOutOfSync()
    return yield* registryUnavailable()
  })

  const attemptJoin = Effect.fnUntraced(function* (
    session: Session,
    membership: Membership,
    terms: JoinTerms,
    capacity: Capacity
  ) {
    for (let attempt = 0; attempt < maxJoinAttempts; attempt++) {
      if (!isReady()) return yield* registryUnavailable()
      const inSync = yield* Effect.timeoutOption(sync.awaitInSync, Duration.sum(scriptTimeout, gracePeriod))
      if (Option.isNone(inSync)) return yield* registryUnavailable()
      const joined = sync.outOfSyncOnError(scripts.join(session, membership, terms, capacity))
      const outcome = yield* Effect.mapError(joined, registryUnavailable)
      if (outcome === "joined") return
      if (Array.isArray(outcome)) {
        const [, name, joinedAt] = outcome
        return yield* membershipConflict(membership, { name, ...(joinedAt !== "" && { joinedAt: Number(joinedAt) }) })
      }
      if (outcome === "office_full") return yield* officeFull(membership.office)
      if (outcome === "too_many_offices") return yield* tooManyOffices()
      // An expired join that did not time out here: the clock of Redis was changed. Reconciling syncs it.
      sync.markOutOfSync()
    }
    return yield* registryUnavailable()
  })

  return Effect.fnUntraced(function* (session: Session, membership: Membership, terms: JoinTerms, capacity: Capacity) {
    const isNew = yield* Effect.fromResult(checkJoin(session, membership))
    // After a takeover that this node has not received yet, the session is evicted when it arrives.
    if (!isNew) return
    if (!membership.name.isWellFormed() || !membership.office.isWellFormed()) return yield* malformedName
    const onEntered = Deferred.makeUnsafe<void>()
    const endJoin = local.beginJoin(session.sid, membership.office, () => Deferred.doneUnsafe(onEntered, Exit.void))
    const reconcilesBefore = sync.reconcileCount()
    yield* attemptJoin(session, membership, terms, capacity).pipe(
      Effect.andThen(awaitJoinEcho(session.sid, membership.office, onEntered)),
      Effect.ensuring(Effect.sync(endJoin)),
      // A reconciliation during the join left out the current membership.
      Effect.tapError(() =>
        Effect.sync(() => {
          if (reconcilesBefore !== sync.reconcileCount() && Option.isSome(session.membership)) sync.markOutOfSync()
        })
      )
    )
  })
}
