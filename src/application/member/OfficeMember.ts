import { Clock, Data, Duration, Effect, Exit, Option, Ref, Result, Scope, SubscriptionRef } from "effect"
import { errorCodes, isRetryableMessage } from "../../domain/model/ProtocolError.ts"
import { type ProtocolLine, lineForVersion } from "../../domain/wire/lines.ts"
import type { Role } from "../../domain/model/Role.ts"
import { parseVersion, PROTOCOL_VERSION } from "../../domain/wire/version.ts"
import { reconnectBackoff, backoffDelay, backoffSchedule } from "../shared/backoff.ts"
import { type Body, jsonBody } from "../ports/Body.ts"
import { newInstanceSecret } from "./newSecret.ts"
import {
  type Reply,
  type ConnectError,
  type Link,
  LinkClosed,
  type RequestTimeout,
  type SendFailed,
  type MessageHandler,
  TransportClient,
  Unreachable
} from "../ports/Transport.ts"

/** The Server does not let this member into the office, in its own words. */
export class JoinRejected extends Data.TaggedError("JoinRefused")<{
  readonly office: string
  readonly message: string
}> {}

/** An event that a member of this role may not send. */
export class NotPermitted extends Data.TaggedError("NotPermitted")<{
  readonly event: string
  readonly role: Role
}> {
  override get message(): string {
    return `An ${this.role} may not send ${JSON.stringify(this.event)}`
  }
}

export type JoinFailed = ConnectError | JoinRejected

/** Where a member stands. `Ended` is final: trying again would not help. */
export type MemberStatus =
  | { readonly _tag: "Joined" }
  | { readonly _tag: "Lost"; readonly reason: string }
  | { readonly _tag: "Ended"; readonly error: JoinFailed }

/** Who wants to sit where. */
export interface MemberOptions {
  readonly role: Role
  readonly office: string
  readonly name: string
  /** Keep trying while the Server cannot be reached, or lets nobody in right now; otherwise that is a failure. */
  readonly retryInitialConnect?: boolean
}

/** What a member does with what comes. */
export interface MemberHandlers {
  readonly onMessage: MessageHandler
  /** Runs after every successful join, the first one included. */
  readonly onJoined: Effect.Effect<void>
  /** Runs whenever the connection is lost. */
  readonly onLost: (reason: string) => Effect.Effect<void>
}

/** A seat in an office that is taken again whenever the connection is lost. */
export interface OfficeMember {
  readonly line: ProtocolLine
  readonly status: SubscriptionRef.SubscriptionRef<MemberStatus>
  readonly request: (
    event: string,
    body: Body,
    timeout: Duration.Duration
  ) => Effect.Effect<Reply, LinkClosed | RequestTimeout | SendFailed | NotPermitted>
  readonly notify: (event: string, body: Body) => Effect.Effect<void, LinkClosed | SendFailed | NotPermitted>
  /** Largest body the Server takes, in bytes of its JSON text. */
  readonly maxBytes: () => number
  /** True when the Server takes a message with this body. */
  readonly fits: (body: Body) => boolean
}

/** How long the Server may take to answer a join. */
const joinTimeout = Duration.seconds(20)

/** A seat that lasted so long was a good one: the next one is taken at once. */
const stableAfter = Duration.seconds(2)

/** Is the Server only not there, or not able to let this member in, right now? */
const isJoinRetryable = (error: JoinFailed): boolean => {
  switch (error._tag) {
    case "Unreachable":
      return error.permanent !== true
    case "AdmissionRejected":
      return error.retryable === true
    case "JoinRefused":
      return isRetryableMessage(error.message)
    case "VersionRejected":
      return false
  }
}

/**
 * Who had a seat keeps asking for it while others may only have taken it meanwhile; and where there was a Server there
 * will be one again, although a proxy finds none while that one is started anew.
 */
const isRejoinRetryable = (error: JoinFailed): boolean =>
  isJoinRetryable(error) ||
  error._tag === "JoinRefused" ||
  (error._tag === "AdmissionRejected" && error.code === errorCodes.notFound)

/**
 * Takes a seat in an office for as long as the scope. The first attempt may fail; a seat once taken is taken again,
 * with growing pauses, until the Server says that trying is useless.
 */
export const joinOffice = Effect.fnUntraced(function* (
  { name, office, retryInitialConnect = false, role }: MemberOptions,
  makeHandlers: (member: OfficeMember) => MemberHandlers
): Effect.fn.Return<OfficeMember, JoinFailed, Scope.Scope | TransportClient> {
  const transport = yield* TransportClient
  // Seats close after the fiber that takes them again has ended: closing is not losing.
  const connections = yield* Scope.fork(yield* Effect.scope)
  const line = lineForVersion(yield* Effect.orDie(Effect.fromResult(parseVersion(PROTOCOL_VERSION))))
  const current = yield* Ref.make(Option.none<Link>())
  // By this the Server knows a member again that comes back before its old connection is noticed to be dead.
  const instance = newInstanceSecret()
  const status = yield* SubscriptionRef.make<MemberStatus>({ _tag: "Lost", reason: "not connected yet" })

  const permittedLink = (event: string): Effect.Effect<Link, LinkClosed | NotPermitted> => {
    const from = line.findEventDefinition(event)?.from
    if (from !== role && from !== "member") return Effect.fail(new NotPermitted({ event, role }))
    return Effect.flatMap(
      Ref.get(current),
      Option.match({
        onNone: () => Effect.fail(new LinkClosed({ reason: "not connected" })),
        onSome: Effect.succeed
      })
    )
  }

  const member: OfficeMember = {
    line,
    status,
    request: (event, body, timeout) =>
      Effect.flatMap(permittedLink(event), (link) => link.request(event, body, timeout)),
    notify: (event, body) => Effect.flatMap(permittedLink(event), (link) => link.notify(event, body)),
    maxBytes: () =>
      Option.match(Ref.getUnsafe(current), {
        onNone: () => Number.POSITIVE_INFINITY,
        onSome: (link) => link.maxBytes()
      }),
    fits: (body) =>
      Option.match(Ref.getUnsafe(current), { onNone: () => true, onSome: (link) => link.fits(body) })
  }
  const { onJoined, onLost, onMessage } = makeHandlers(member)

  const sendJoin = Effect.fnUntraced(function* (link: Link): Effect.fn.Return<void, JoinFailed> {
    const body = jsonBody(line.serverRequests.join.request.encode({ role, name, officeId: office }))
    const reply = yield* Effect.mapError(
      link.request(line.serverRequests.join.event, body, joinTimeout),
      () => new Unreachable({ message: "The Server does not answer the request to join" })
    )
    const values = reply.map(({ head }) => Result.getOrElse(head, () => undefined))
    yield* Effect.mapError(
      Effect.fromResult(line.decodeMembershipAck(values)),
      (message) => new JoinRejected({ office, message })
    )
  })

  const connectAndJoin = Effect.gen(function* () {
    const scope = yield* Scope.fork(connections)
    const link = yield* transport
      .connect({ version: PROTOCOL_VERSION, auth: { role, instance }, onMessage })
      .pipe(
        Effect.tap(sendJoin),
        Scope.provide(scope),
        Effect.onError(() => Scope.close(scope, Exit.void))
      )
    yield* Ref.set(current, Option.some(link))
    yield* SubscriptionRef.set(status, { _tag: "Joined" })
    yield* Effect.logDebug("joined office", { office, name, role })
    yield* onJoined
    return { link, scope }
  })

  const joinWithRetry = (isRetryable: (error: JoinFailed) => boolean) =>
    connectAndJoin.pipe(
      Effect.tapError((error) =>
        isRetryable(error)
          ? Effect.logWarning("cannot join yet, trying again", { office, reason: error.message })
          : Effect.void
      ),
      Effect.retry({ schedule: backoffSchedule(reconnectBackoff), while: isRetryable })
    )

  /** Stays until the connection is lost, then comes back, for ever. */
  const reconnectForever = Effect.fnUntraced(function* (first: {
    readonly link: Link
    readonly scope: Scope.Closeable
  }) {
    let connection = first
    /** Seats that did not last, in a row: each costs the whole office a word of who came and of who left. */
    let shortLived = 0
    while (true) {
      const since = yield* Clock.currentTimeMillis
      const reason = yield* connection.link.closed
      const lasted = (yield* Clock.currentTimeMillis) - since
      shortLived = lasted >= Duration.toMillis(stableAfter) ? 0 : shortLived + 1
      yield* Ref.set(current, Option.none())
      yield* SubscriptionRef.set(status, { _tag: "Lost", reason })
      yield* Effect.logWarning("connection lost", { office, reason })
      yield* onLost(reason)
      yield* Scope.close(connection.scope, Exit.void)
      if (shortLived > 1) yield* Effect.sleep(yield* backoffDelay(reconnectBackoff, shortLived - 1))
      connection = yield* joinWithRetry(isRejoinRetryable)
      yield* Effect.logInfo("back in the office", { office })
    }
  })

  const first = yield* retryInitialConnect ? joinWithRetry(isJoinRetryable) : connectAndJoin
  yield* reconnectForever(first).pipe(
    Effect.catch((error) =>
      Effect.andThen(
        Effect.logError("cannot come back", { office, reason: error.message }),
        SubscriptionRef.set(status, { _tag: "Ended", error })
      )
    ),
    Effect.forkScoped
  )

  return member
})
