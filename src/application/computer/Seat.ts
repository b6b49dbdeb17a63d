import { Data, Deferred, Effect, Exit, Scope, Stream, SubscriptionRef } from "effect"
import {
  joinOffice,
  type JoinFailed,
  JoinRefused,
  type MemberEvents,
  type MemberStatus,
  type OfficeMember
} from "../member/OfficeMember.ts"
import { TransportClient } from "../ports/Transport.ts"

/** Where a Computer stands; `Away` while it is in no office by its own will. */
export type SeatStatus = MemberStatus | { readonly _tag: "Away" }

/** It sits in an office already; it has to leave that one first. */
export class AlreadySeated extends Data.TaggedError("AlreadySeated")<{ readonly office: string }> {
  override get message(): string {
    return `Already in office '${this.office}': leave it first`
  }
}

/** Which office to join. */
export interface SeatRequest {
  readonly office: string
  /** Keep trying while the Server cannot be reached, or lets nobody in right now; otherwise that is a failure. */
  readonly patient?: boolean
}

/** A Computer's place in at most one office, taken and given up at run time. */
export interface Seat {
  /** Where the Computer stands, now and after every change. */
  readonly status: Stream.Stream<SeatStatus>
  /** The office it is in, is about to join or comes back to. */
  readonly office: () => string | undefined
  /** The membership, while there is one. */
  readonly member: () => OfficeMember | undefined
  readonly join: (
    request: SeatRequest,
    behave: (member: OfficeMember) => MemberEvents
  ) => Effect.Effect<void, JoinFailed | AlreadySeated>
  /** Gives the seat up, or the attempt to get one. Nothing happens when there is neither. */
  readonly leave: Effect.Effect<void>
}

/** A seat, from the first attempt to get it. */
interface Taken {
  readonly office: string
  readonly scope: Scope.Closeable
  readonly left: Deferred.Deferred<never, JoinRefused>
  readonly member: OfficeMember | undefined
}

/** A seat for a Computer of this name; it is given up with the scope. */
export const makeSeat = Effect.fnUntraced(function* (
  name: string
): Effect.fn.Return<Seat, never, Scope.Scope | TransportClient> {
  const transport = yield* TransportClient
  const owner = yield* Effect.scope
  const taken = yield* SubscriptionRef.make<Taken | undefined>(undefined)
  const current = () => SubscriptionRef.getUnsafe(taken)

  const release = ({ left, office, scope }: Taken) =>
    Effect.andThen(
      SubscriptionRef.update(taken, (seat) => (seat?.scope === scope ? undefined : seat)),
      Effect.andThen(
        Deferred.fail(left, new JoinRefused({ office, message: "Given up before the office was joined" })),
        Scope.close(scope, Exit.void)
      )
    )

  const join: Seat["join"] = Effect.fnUntraced(function* (request, behave) {
    const { office } = request
    const left = yield* Deferred.make<never, JoinRefused>()
    const scope = yield* Scope.fork(owner)
    const seat: Taken = { office, scope, left, member: undefined }
    const previous = yield* SubscriptionRef.modify(taken, (now) => [now, now ?? seat])
    if (previous !== undefined) {
      yield* Scope.close(scope, Exit.void)
      return yield* new AlreadySeated({ office: previous.office })
    }
    const joined = joinOffice({ role: "computer", name, ...request }, (member) => {
      const events = behave(member)
      const sit = SubscriptionRef.update(taken, (now) => (now?.scope === scope ? { ...now, member } : now))
      return { ...events, onJoined: Effect.andThen(sit, events.onJoined) }
    }).pipe(Effect.provideService(TransportClient, transport), Scope.provide(scope))
    yield* Effect.raceFirst(joined, Deferred.await(left)).pipe(Effect.onError(() => release(seat)))
  })

  return {
    status: Stream.switchMap(SubscriptionRef.changes(taken), (seat): Stream.Stream<SeatStatus> => {
      if (seat === undefined) return Stream.succeed({ _tag: "Away" })
      return seat.member === undefined ? Stream.empty : SubscriptionRef.changes(seat.member.status)
    }),
    office: () => current()?.office,
    member: () => current()?.member,
    join,
    leave: Effect.suspend(() => {
      const seat = current()
      return seat === undefined ? Effect.void : release(seat)
    })
  }
})
