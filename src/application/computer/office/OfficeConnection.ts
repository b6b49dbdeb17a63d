import { Data, Deferred, Effect, Exit, Scope, Stream, SubscriptionRef } from "effect"
import { defaultLineName } from "../../../domain/wire/lines.ts"
import { definedOnly } from "../../../domain/objects.ts"
import {
  joinOffice,
  type JoinFailed,
  JoinRejected,
  makeInstanceSecret,
  type MemberHandlers,
  type MemberOptions,
  type MemberStatus,
  type OfficeMember
} from "../../member/OfficeMember.ts"
import { TransportClient } from "../../ports/Transport.ts"

/** The connection status of a Computer; `NotJoined` before a join and after `leave`. */
export type OfficeStatus = MemberStatus | { readonly _tag: "NotJoined" }

/** The Computer is in an office, or joins one; it must leave first. */
export class AlreadyJoined extends Data.TaggedError("AlreadyJoined")<{ readonly office: string }> {
  override get message(): string {
    return `Already in office '${this.office}': leave it first`
  }
}

/** An office, and what differs at this join from the options of the Computer. */
export interface JoinOptions extends Omit<MemberOptions, "role" | "name" | "features"> {}

/** A membership, from the first attempt to join. */
interface JoinState {
  readonly office: string
  /** The name of the protocol line, which the first connection may choose. */
  readonly line: () => string
  readonly scope: Scope.Closeable
  readonly cancelled: Deferred.Deferred<never, JoinRejected>
  readonly member: OfficeMember | undefined
}

/** Makes a Computer's membership of at most one office, which ends with the scope. The options hold for each join. */
export const makeOfficeConnection = Effect.fnUntraced(function* (options: Omit<MemberOptions, "office" | "role">) {
  const transport = yield* TransportClient
  const parentScope = yield* Effect.scope
  const state = yield* SubscriptionRef.make<JoinState | undefined>(undefined)
  const instance = makeInstanceSecret()
  const current = () => SubscriptionRef.getUnsafe(state)

  const release = Effect.fnUntraced(function* ({ cancelled, office, scope }: JoinState) {
    yield* SubscriptionRef.update(state, (now) => (now?.scope === scope ? undefined : now))
    yield* Deferred.fail(cancelled, new JoinRejected({ office, message: "Join cancelled" }))
    yield* Scope.close(scope, Exit.void)
  })

  const join = Effect.fnUntraced(function* (
    request: JoinOptions,
    makeHandlers: (member: OfficeMember) => MemberHandlers
  ): Effect.fn.Return<void, JoinFailed | AlreadyJoined> {
    const { office } = request
    const cancelled = yield* Deferred.make<never, JoinRejected>()
    const scope = yield* Scope.fork(parentScope)
    let line: string = defaultLineName
    const attempt: JoinState = { office, line: () => line, scope, cancelled, member: undefined }
    const previous = yield* SubscriptionRef.modify(state, (now) => [now, now ?? attempt])
    if (previous !== undefined) {
      yield* Scope.close(scope, Exit.void)
      return yield* new AlreadyJoined({ office: previous.office })
    }
    const membership = { ...options, ...definedOnly(request), role: "computer", instance } as const
    const joined = joinOffice(membership, (member) => {
      line = member.line.name
      const handlers = makeHandlers(member)
      const setMember = SubscriptionRef.update(state, (now) => (now?.scope === scope ? { ...now, member } : now))
      return { ...handlers, onJoined: Effect.andThen(setMember, handlers.onJoined) }
    }).pipe(Effect.provideService(TransportClient, transport), Scope.provide(scope))
    yield* Effect.raceFirst(joined, Deferred.await(cancelled)).pipe(Effect.onError(() => release(attempt)))
  })

  return {
    status: Stream.switchMap(SubscriptionRef.changes(state), (active): Stream.Stream<OfficeStatus> => {
      if (active === undefined) return Stream.succeed({ _tag: "NotJoined" })
      return active.member === undefined ? Stream.empty : SubscriptionRef.changes(active.member.status)
    }),
    office: () => current()?.office,
    /** The office with its protocol line, before the first request of the office arrives. */
    place: () => {
      const { line, office } = current() ?? {}
      return office === undefined || line === undefined ? undefined : { office, line: line() }
    },
    /** The member, after the first join. */
    member: () => current()?.member,
    join,
    /** Leaves the office or cancels the join. Does nothing outside an office. */
    leave: Effect.suspend(() => {
      const active = current()
      return active === undefined ? Effect.void : release(active)
    })
  }
})
