import { Deferred, Duration, Effect, Exit, Option } from "effect"
import {
  type Capacity,
  mayTake,
  OfficeRefusal,
  officeFull,
  registryUnavailable,
  type Seat,
  seatTaken,
  type Session,
  tooManyOffices
} from "../../domain/office/membership.ts"
import type { Calls } from "./calls.ts"
import type { LocalOffices } from "./LocalOffices.ts"
import type { News } from "./News.ts"
import { scriptPatience } from "./RedisScripts.ts"
import type { Trust } from "./Trust.ts"

/** How long a join waits until it is heard on the channel; then it looks for itself. */
const echoPatience = Duration.millis(500)

/** How often a join is tried while the registry comes back. */
const joinAttempts = 4

const malformed = new OfficeRefusal({
  why: "malformed",
  message: "The names of members and rooms must be well-formed Unicode"
})

/** What {@link joiningFor} needs. */
export interface JoiningOptions {
  readonly local: LocalOffices
  readonly trust: Trust
  readonly calls: Calls
  readonly news: News
  /** True while Redis can be asked. */
  readonly ready: () => boolean
  /** How long nobody can join a registry that has just begun. */
  readonly settle: Duration.Duration
}

/** How a session of a node gets a seat: when it has returned, the node has heard of it. */
export const joiningFor = ({ calls, local, news, ready, settle, trust }: JoiningOptions) => {
  const isSeated = (sid: string, office: string): boolean =>
    Option.exists(local.session(sid)?.seat ?? Option.none(), (seat) => seat.office === office)

  /** Waits until this node has heard of a join of its own, so that its members hear everything in order. */
  const echo = Effect.fnUntraced(function* (sid: string, office: string, entered: Deferred.Deferred<void>) {
    if (isSeated(sid, office)) return
    const heard = yield* Effect.timeoutOption(Deferred.await(entered), echoPatience)
    // It may have lost the seat again by now.
    if (Option.isSome(heard) || isSeated(sid, office)) return
    yield* Effect.ignore(news.refresh(office))
    if (isSeated(sid, office)) return
    trust.distrust()
    return yield* registryUnavailable()
  })

  const takeSeat = Effect.fnUntraced(function* (
    session: Session,
    seat: Seat,
    capacity: Capacity,
    entered: Deferred.Deferred<void>
  ) {
    for (let attempt = 0; attempt < joinAttempts; attempt++) {
      if (!ready()) return yield* registryUnavailable()
      const waited = yield* Effect.timeoutOption(trust.steady, Duration.sum(scriptPatience, settle))
      if (Option.isNone(waited)) return yield* registryUnavailable()
      const joined = trust.distrusting(calls.join(session, seat, capacity))
      const outcome = yield* Effect.mapError(joined, registryUnavailable)
      switch (outcome) {
        case "in":
          return yield* echo(session.sid, seat.office, entered)
        // Late though this node still waits: Redis' clock has been put forward, and is read anew.
        case "late":
        case "gone":
          trust.distrust()
          break
        case "taken":
          return yield* seatTaken(seat)
        case "office full":
          return yield* officeFull(seat.office)
        case "too many offices":
          return yield* tooManyOffices()
      }
    }
    return yield* registryUnavailable()
  })

  return Effect.fnUntraced(function* (session: Session, seat: Seat, capacity: Capacity) {
    const allowed = yield* Effect.fromResult(mayTake(session, seat))
    if (allowed === "own") return
    if (!seat.name.isWellFormed() || !seat.office.isWellFormed()) return yield* malformed
    const entered = Deferred.makeUnsafe<void>()
    const done = local.joining(session.sid, seat.office, () => Deferred.doneUnsafe(entered, Exit.void))
    const before = trust.comparisons
    yield* takeSeat(session, seat, capacity, entered).pipe(
      Effect.ensuring(Effect.sync(done)),
      // A seat that was changing has been left out when everything was compared.
      Effect.tapError(() =>
        Effect.sync(() => {
          if (before !== trust.comparisons && Option.isSome(session.seat)) trust.distrust()
        })
      )
    )
  })
}
