import { Data, Deferred, Effect, Exit, Scope, Stream, SubscriptionRef, Duration, Result } from "effect"
import { defaultLineName } from "../../../domain/wire/lines.ts"
import { definedOnly } from "../../../domain/objects.ts"
import {
  joinOffice,
  JoinRejected,
  makeInstanceSecret,
  type MemberHandlers,
  type MemberOptions,
  type MemberStatus,
  type OfficeMember
} from "../../member/OfficeMember.ts"
import { TransportClient } from "../../ports/Transport.ts"
import { type OfficeCaller, officeCaller } from "../../../domain/approvals/Caller.ts"
import { decodeHead, jsonBody } from "../../ports/Body.ts"
import type { CallReporter } from "../calls/Call.ts"

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
  ) {
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

export type OfficeConnection = Effect.Success<ReturnType<typeof makeOfficeConnection>>

/**
 * Tells the members of the offices of a Computer apart that join under one name. `onForget` ends what the Agent may do
 * without a question.
 */
export const makeCallers = (onForget: () => void) => {
  const membership = { Agent: 1, Operator: 1 }
  const forget = (...kinds: ReadonlyArray<OfficeCaller["_tag"]>): void => {
    for (const kind of kinds) membership[kind] += 1
    onForget()
  }
  return {
    /** The caller of a request that arrives now. `isProven` as for {@link officeCaller}. */
    named: (name: string, isProven: boolean): OfficeCaller => {
      const caller = officeCaller(name, membership.Agent, isProven)
      return { ...caller, membership: membership[caller._tag] }
    },
    /** The Agent has left: a later one of its name is another caller. The Server proves who an operator is. */
    forgetAgent: () => forget("Agent"),
    /** Members may have left unnoticed. */
    forgetAll: () => forget("Agent", "Operator")
  }
}

/** How long the Server may take to acknowledge that a call waits. A Server of another implementation does not. */
const announceTimeout = Duration.seconds(10)

/** Reports the statuses of calls to the Server, which forwards them to their Agents. */
export const makeOfficeReporter = (current: () => OfficeMember | undefined): CallReporter => ({
  report: (report) =>
    Effect.suspend(() => {
      const member = current()
      if (member === undefined) return Effect.void
      const { callStatus, encodeCallStatus } = member.line
      return Effect.ignore(member.notify(callStatus.event, jsonBody(encodeCallStatus(report))))
    }),
  announceWait: (report) =>
    Effect.suspend(() => {
      const member = current()
      if (member === undefined) return Effect.succeed(false)
      const { callStatus, encodeCallStatus } = member.line
      return member.request(callStatus.event, jsonBody(encodeCallStatus(report)), announceTimeout).pipe(
        Effect.map(([ack]) => {
          const decoded = ack && Result.getOrUndefined(decodeHead(ack, callStatus.waitAck.decode))
          return decoded !== undefined && decoded.waitSeconds > 0
        }),
        Effect.orElseSucceed(() => false)
      )
    })
})
