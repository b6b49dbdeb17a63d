import { Deferred, Duration, Effect, Exit, Option } from "effect"
import { checkJoin } from "../../../domain/office/decide.ts"
import { type Capacity } from "../../../domain/office/MembershipState.ts"
import {
  MembershipError,
  officeFull,
  registryUnavailable,
  type Membership,
  membershipConflict,
  type Session,
  tooManyOffices
} from "../../../domain/model/Membership.ts"
import type { RegistryScripts } from "./RegistryScripts.ts"
import type { LocalOffices } from "./LocalOffices.ts"
import type { RegistryEvents } from "./RegistryEvents.ts"
import { scriptTimeout } from "./ScriptRunner.ts"
import type { SyncState } from "./SyncState.ts"

/** How long a join waits until it is heard on the channel; then it looks for itself. */
const echoTimeout = Duration.millis(500)

/** How often a join is tried while the registry comes back. */
const maxJoinAttempts = 4

const malformedName = new MembershipError({
  reason: "malformed",
  message: "The names of members and rooms must be well-formed Unicode"
})

/** What {@link makeJoinOffice} needs. */
export interface JoinOfficeOptions {
  readonly local: LocalOffices
  readonly sync: SyncState
  readonly scripts: RegistryScripts
  readonly events: RegistryEvents
  /** True while Redis can be asked. */
  readonly isReady: () => boolean
  /** How long nobody can join a registry that has just begun. */
  readonly gracePeriod: Duration.Duration
}

/** How a session of a node gets a seat: when it has returned, the node has heard of it. */
export const makeJoinOffice = ({ scripts, local, events, isReady, gracePeriod, sync }: JoinOfficeOptions) => {
  const isJoined = (sid: string, office: string): boolean =>
    Option.exists(
      local.session(sid)?.membership ?? Option.none(),
      (membership) => membership.office === office
    )

  /** Waits until this node has heard of a join of its own, so that its members hear everything in order. */
  const awaitJoinEcho = Effect.fnUntraced(function* (
    sid: string,
    office: string,
    onEntered: Deferred.Deferred<void>
  ) {
    if (isJoined(sid, office)) return
    const echoed = yield* Effect.timeoutOption(Deferred.await(onEntered), echoTimeout)
    // It may have lost the seat again by now.
    if (Option.isSome(echoed) || isJoined(sid, office)) return
    yield* Effect.ignore(events.refresh(office))
    if (isJoined(sid, office)) return
    sync.markOutOfSync()
    return yield* registryUnavailable()
  })

  const attemptJoin = Effect.fnUntraced(function* (
    session: Session,
    membership: Membership,
    capacity: Capacity,
    onEntered: Deferred.Deferred<void>
  ) {
    for (let attempt = 0; attempt < maxJoinAttempts; attempt++) {
      if (!isReady()) return yield* registryUnavailable()
      const inSync = yield* Effect.timeoutOption(sync.awaitInSync, Duration.sum(scriptTimeout, gracePeriod))
      if (Option.isNone(inSync)) return yield* registryUnavailable()
      const joined = sync.outOfSyncOnError(scripts.join(session, membership, capacity))
      const outcome = yield* Effect.mapError(joined, registryUnavailable)
      switch (outcome) {
        case "in":
          return yield* awaitJoinEcho(session.sid, membership.office, onEntered)
        // Late though this node still waits: Redis' clock has been put forward, and is read anew.
        case "late":
        case "gone":
          sync.markOutOfSync()
          break
        case "taken":
          return yield* membershipConflict(membership)
        case "office full":
          return yield* officeFull(membership.office)
        case "too many offices":
          return yield* tooManyOffices()
      }
    }
    return yield* registryUnavailable()
  })

  return Effect.fnUntraced(function* (session: Session, membership: Membership, capacity: Capacity) {
    const allowed = yield* Effect.fromResult(checkJoin(session, membership))
    if (allowed === "unchanged") return
    if (!membership.name.isWellFormed() || !membership.office.isWellFormed()) return yield* malformedName
    const onEntered = Deferred.makeUnsafe<void>()
    const endJoin = local.beginJoin(session.sid, membership.office, () =>
      Deferred.doneUnsafe(onEntered, Exit.void)
    )
    const reconcilesBefore = sync.reconcileCount
    yield* attemptJoin(session, membership, capacity, onEntered).pipe(
      Effect.ensuring(Effect.sync(endJoin)),
      // A seat that was changing has been left out when everything was compared.
      Effect.tapError(() =>
        Effect.sync(() => {
          if (reconcilesBefore !== sync.reconcileCount && Option.isSome(session.membership))
            sync.markOutOfSync()
        })
      )
    )
  })
}
