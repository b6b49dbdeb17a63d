import { Data, Deferred, Effect, Exit, Scope, Stream, SubscriptionRef } from "effect"
import {
  joinOffice,
  type JoinFailed,
  JoinRejected,
  type MemberHandlers,
  type MemberStatus,
  type OfficeMember
} from "../../member/OfficeMember.ts"
import { TransportClient } from "../../ports/Transport.ts"

/** Where a Computer stands; `Away` while it is in no office by its own will. */
export type OfficeStatus = MemberStatus | { readonly _tag: "Away" }

/** It sits in an office already; it has to leave that one first. */
export class AlreadyJoined extends Data.TaggedError("AlreadySeated")<{ readonly office: string }> {
  override get message(): string {
    return `Already in office '${this.office}': leave it first`
  }
}

/** Which office to join. */
export interface JoinOptions {
  readonly office: string
  /** Keep trying while the Server cannot be reached, or lets nobody in right now; otherwise that is a failure. */
  readonly retryInitialConnect?: boolean
}

/** A Computer's place in at most one office, taken and given up at run time. */
export interface OfficeConnection {
  /** Where the Computer stands, now and after every change. */
  readonly status: Stream.Stream<OfficeStatus>
  /** The office it is in, is about to join or comes back to. */
  readonly office: () => string | undefined
  /** The membership, while there is one. */
  readonly member: () => OfficeMember | undefined
  readonly join: (
    request: JoinOptions,
    makeHandlers: (member: OfficeMember) => MemberHandlers
  ) => Effect.Effect<void, JoinFailed | AlreadyJoined>
  /** Gives the seat up, or the attempt to get one. Nothing happens when there is neither. */
  readonly leave: Effect.Effect<void>
}

/** A seat, from the first attempt to get it. */
interface JoinState {
  readonly office: string
  readonly scope: Scope.Closeable
  readonly cancelled: Deferred.Deferred<never, JoinRejected>
  readonly member: OfficeMember | undefined
}

/** A seat for a Computer of this name; it is given up with the scope. */
export const makeOfficeConnection = Effect.fnUntraced(function* (
  name: string
): Effect.fn.Return<OfficeConnection, never, Scope.Scope | TransportClient> {
  const transport = yield* TransportClient
  const parentScope = yield* Effect.scope
  const state = yield* SubscriptionRef.make<JoinState | undefined>(undefined)
  const current = () => SubscriptionRef.getUnsafe(state)

  const release = ({ cancelled, office, scope }: JoinState) =>
    Effect.andThen(
      SubscriptionRef.update(state, (now) => (now?.scope === scope ? undefined : now)),
      Effect.andThen(
        Deferred.fail(
          cancelled,
          new JoinRejected({ office, message: "Given up before the office was joined" })
        ),
        Scope.close(scope, Exit.void)
      )
    )

  const join: OfficeConnection["join"] = Effect.fnUntraced(function* (request, makeHandlers) {
    const { office } = request
    const cancelled = yield* Deferred.make<never, JoinRejected>()
    const scope = yield* Scope.fork(parentScope)
    const attempt: JoinState = { office, scope, cancelled, member: undefined }
    const previous = yield* SubscriptionRef.modify(state, (now) => [now, now ?? attempt])
    if (previous !== undefined) {
      yield* Scope.close(scope, Exit.void)
      return yield* new AlreadyJoined({ office: previous.office })
    }
    const joined = joinOffice({ role: "computer", name, ...request }, (member) => {
      const handlers = makeHandlers(member)
      const setMember = SubscriptionRef.update(state, (now) =>
        now?.scope === scope ? { ...now, member } : now
      )
      return { ...handlers, onJoined: Effect.andThen(setMember, handlers.onJoined) }
    }).pipe(Effect.provideService(TransportClient, transport), Scope.provide(scope))
    yield* Effect.raceFirst(joined, Deferred.await(cancelled)).pipe(Effect.onError(() => release(attempt)))
  })

  return {
    status: Stream.switchMap(SubscriptionRef.changes(state), (active): Stream.Stream<OfficeStatus> => {
      if (active === undefined) return Stream.succeed({ _tag: "Away" })
      return active.member === undefined ? Stream.empty : SubscriptionRef.changes(active.member.status)
    }),
    office: () => current()?.office,
    member: () => current()?.member,
    join,
    leave: Effect.suspend(() => {
      const active = current()
      return active === undefined ? Effect.void : release(active)
    })
  }
})
