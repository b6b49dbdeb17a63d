import { bytesToHex } from "@noble/hashes/utils.js"
import { Clock, Data, Deferred, Duration, Effect, Result, type Scope, SubscriptionRef } from "effect"
import { errorCodes, isRetryableMessage } from "../../domain/model/ProtocolError.ts"
import { defaultLineName, type LineName, lineNamed } from "../../domain/wire/lines.ts"
import { keepsOperatorNames, type MemberFeature } from "../../domain/office/memberFeatures.ts"
import type { ProtocolLine } from "../../domain/wire/ProtocolLine.ts"
import type { Role } from "../../domain/model/Membership.ts"
import { type CurrentMember, parseMembershipConflict } from "../../domain/office/membershipConflict.ts"
import { definedOnly } from "../../domain/objects.ts"
import { formatVersion } from "../../domain/wire/version.ts"
import { connectOnNewestLine } from "./connectOnNewestLine.ts"
import { makePlaceWait } from "./placeWait.ts"
import { secureRandomBytes } from "../shared/secureRandom.ts"
import { reconnectBackoff, backoffDelay, backoffSchedule } from "../shared/backoff.ts"
import { type Body, jsonBody } from "../ports/Body.ts"
import {
  type Reply,
  type ConnectError,
  type ExtendTimeout,
  type Link,
  LinkClosed,
  type RequestTimeout,
  type SendFailed,
  type MessageHandler,
  TransportClient,
  Unreachable
} from "../ports/Transport.ts"

/** The Server rejected the join; `message` is the Server's. */
export class JoinRejected extends Data.TaggedError("JoinRejected")<{
  readonly office: string
  readonly message: string
  /** The member that holds the membership, when that is the cause: another Agent, or a Computer of this name. */
  readonly current?: CurrentMember
}> {}

/** Another connection of the same identity took the membership over on request. The member does not rejoin. */
export class MemberReplaced extends Data.TaggedError("MemberReplaced")<{
  readonly office: string
  readonly name: string
}> {
  override get message(): string {
    return `Replaced in office '${this.office}': another connection of the same identity took over from '${this.name}'`
  }
}

/** The protocol does not permit this event for this role. */
export class NotPermitted extends Data.TaggedError("NotPermitted")<{ readonly event: string; readonly role: Role }> {
  override get message(): string {
    return `A member with the role ${this.role} may not send ${JSON.stringify(this.event)}`
  }
}

export type JoinFailed = ConnectError | JoinRejected

/** The connection status of a member. `Failed` is final: the failure is permanent. */
export type MemberStatus =
  | { readonly _tag: "Joined" }
  | { readonly _tag: "Disconnected"; readonly reason: string }
  | { readonly _tag: "Failed"; readonly error: JoinFailed | MemberReplaced }

export interface MemberOptions {
  readonly role: Role
  /** The protocol line, 0.2 by default; `auto` takes the newest one that the Server accepts at the first connection. */
  readonly protocol?: LineName | "auto"
  readonly office: string
  readonly name: string
  /** What the member announces to its Server beyond the protocol; nothing by default. */
  readonly features?: ReadonlyArray<MemberFeature>
  /** Retries the first join while its failure is temporary; without it the first failure is final. */
  readonly retryInitialConnect?: boolean
  /**
   * Replaces the current Agent, or the Computer of this name, of the same identity: of the same subject, or without
   * authentication of the same name. Only the first join does so.
   */
  readonly takeOver?: boolean
  /** How long the first join waits while another member is at its place; it fails at once by default. */
  readonly wait?: Duration.Duration
}

export interface MemberHandlers {
  readonly onMessage: MessageHandler
  /** Runs after every connection, before the join. */
  readonly onConnected?: Effect.Effect<void>
  /** Runs after every join and rejoin. */
  readonly onJoined: Effect.Effect<void>
  /** Runs after every lost connection. */
  readonly onLost: (reason: string) => Effect.Effect<void>
}

/** A membership of an office that survives lost connections. */
export interface OfficeMember {
  readonly line: ProtocolLine
  readonly status: SubscriptionRef.SubscriptionRef<MemberStatus>
  readonly request: (
    event: string,
    body: Body,
    timeout: Duration.Duration,
    extend?: ExtendTimeout
  ) => Effect.Effect<Reply, LinkClosed | RequestTimeout | SendFailed | NotPermitted>
  readonly notify: (event: string, body: Body) => Effect.Effect<void, LinkClosed | SendFailed | NotPermitted>
  /** Maximum body size that the Server accepts, in bytes of JSON text; infinite while disconnected. */
  readonly maxBytes: () => number
  readonly fits: (body: Body) => boolean
  /** True while its Server lets no member take the name of an operator. */
  readonly provesOperators: () => boolean
}

/** A member on a line, and its handlers. */
interface Binding extends MemberHandlers {
  readonly member: OfficeMember
}

const joinTimeout = Duration.seconds(20)

/** A membership of this duration was stable: the member rejoins at once. */
const stableAfter = Duration.seconds(2)

/** True for temporary failures: the Server is unreachable or cannot admit this member at present. */
const isJoinRetryable = (error: JoinFailed): boolean => {
  switch (error._tag) {
    case "Unreachable":
      return error.permanent !== true
    case "AdmissionRejected":
      return error.retryable === true
    case "JoinRejected":
      return isRetryableMessage(error.message)
    case "VersionRejected":
      return false
  }
}

/**
 * A rejoin may outlast more: another member may hold the name, a proxy answers for its Server with 403 or 404, and a
 * certificate that has expired is renewed.
 */
const isRejoinRetryable = (error: JoinFailed): boolean =>
  isJoinRetryable(error) ||
  (error._tag === "Unreachable" && error.reason !== undefined) ||
  error._tag === "JoinRejected" ||
  (error._tag === "AdmissionRejected" && error.code === errorCodes.notFound)

/** Makes a secret of 128 bits in hexadecimal. */
export const makeInstanceSecret = (): string => bytesToHex(secureRandomBytes(16))

/**
 * Joins an office and stays a member until the scope closes. Resolves after the first join. A member that loses its
 * connection rejoins with backoff until the Server reports a permanent failure.
 */
export const joinOffice = Effect.fnUntraced(function* (
  options: MemberOptions & { readonly instance?: string },
  makeHandlers: (member: OfficeMember) => MemberHandlers
): Effect.fn.Return<OfficeMember, JoinFailed, Scope.Scope | TransportClient> {
  const { name, office, protocol = defaultLineName, role, wait = Duration.zero } = options
  // The Server recognises this member by the secret and replaces its stale connection.
  const { instance = makeInstanceSecret() } = options
  const { features = [], retryInitialConnect = false, takeOver = false } = options
  const transport = yield* TransportClient
  let current: Link | undefined
  let provesOperators = false
  const status = yield* SubscriptionRef.make<MemberStatus>({ _tag: "Disconnected", reason: "not connected" })

  const makeMember = (line: ProtocolLine): OfficeMember => {
    const permittedLink = Effect.fnUntraced(function* (event: string) {
      const from = line.findEventDefinition(event)?.from
      if (from !== role && from !== "member") return yield* new NotPermitted({ event, role })
      return current ?? (yield* new LinkClosed({ reason: "not connected" }))
    })
    return {
      line,
      status,
      request: (event, body, timeout, extend) =>
        Effect.flatMap(permittedLink(event), (link) => link.request(event, body, timeout, extend)),
      notify: (event, body) => Effect.flatMap(permittedLink(event), (link) => link.notify(event, body)),
      maxBytes: () => current?.maxBytes() ?? Number.POSITIVE_INFINITY,
      fits: (body) => current?.fits(body) ?? true,
      provesOperators: () => provesOperators
    }
  }

  const sendJoin = Effect.fnUntraced(function* (
    link: Link,
    { decodeMembershipAck, serverRequests: { join } }: ProtocolLine
  ): Effect.fn.Return<void, JoinFailed> {
    const terms = takeOver && !hasJoined ? { takeOver } : {}
    const body = jsonBody(join.request.encode({ role, name, officeId: office, ...terms }))
    const reply = yield* link.request(join.event, body, joinTimeout).pipe(
      Effect.tapErrorTag("RequestTimeout", () => link.close("join_timeout")),
      Effect.mapError(() => new Unreachable({ message: "The Server did not reply to the join request in time" }))
    )
    const values = reply.map(({ head }) => Result.getOrElse(head, () => undefined))
    yield* Effect.mapError(Effect.fromResult(decodeMembershipAck(values)), (message) => {
      const current = parseMembershipConflict({ office, role }, message)
      return new JoinRejected({ office, message, ...definedOnly({ current }) })
    })
    provesOperators = keepsOperatorNames(values)
  })

  const bind = (line: ProtocolLine): Binding => {
    const member = makeMember(line)
    return { ...makeHandlers(member), member }
  }
  /** The member on its line; `undefined` until the first connection chooses the line. */
  let chosen = protocol === "auto" ? undefined : bind(lineNamed(protocol))

  const firstJoin = yield* Deferred.make<OfficeMember, JoinFailed>()
  let hasJoined = false
  /** The reasons of failed joins since the last join: each is logged once. */
  const loggedReasons = new Set<string>()
  /** Consecutive short memberships. Each costs the office two notifications, so they are delayed. */
  let shortLived = 0

  /** Connects, joins, and stays until the connection is lost. Fails when another connection takes over. */
  const stayConnected = Effect.gen(function* () {
    let isReplaced = false
    const connect = Effect.fnUntraced(function* (binding: Binding) {
      const { line } = binding.member
      const onMessage: MessageHandler = (event, body) =>
        Effect.suspend(() => {
          if (event !== line.replacedEvent) return binding.onMessage(event, body)
          isReplaced = true
          return Effect.succeed([])
        })
      const announced = features.length === 0 ? {} : { a2c_features: features }
      const auth = { ...(line.hasRoleInHandshake && { role }), instance, ...announced }
      const link = yield* transport.connect({ version: formatVersion(line.version), auth, onMessage })
      chosen = binding
      return { link, ...binding }
    })
    const {
      link,
      member,
      onConnected = Effect.void,
      onJoined,
      onLost
    } = yield* chosen === undefined ? connectOnNewestLine((line) => connect(bind(line))) : connect(chosen)
    yield* onConnected
    yield* sendJoin(link, member.line)
    current = link
    yield* SubscriptionRef.set(status, { _tag: "Joined" })
    yield* Effect.logDebug("joined office", { office, name, role, line: member.line.name })
    yield* onJoined
    if (hasJoined) yield* Effect.logInfo("rejoined office", { office })
    hasJoined = true
    loggedReasons.clear()
    yield* Deferred.succeed(firstJoin, member)
    const since = yield* Clock.currentTimeMillis
    const reason = yield* link.closed
    const lasted = (yield* Clock.currentTimeMillis) - since
    shortLived = lasted >= Duration.toMillis(stableAfter) ? 0 : shortLived + 1
    current = undefined
    provesOperators = false
    yield* SubscriptionRef.set(status, { _tag: "Disconnected", reason })
    yield* Effect.logWarning("connection lost", { office, reason })
    yield* onLost(reason)
    if (isReplaced) return yield* new MemberReplaced({ office, name })
  }).pipe(Effect.scoped)

  const isRetryable = (error: JoinFailed | MemberReplaced) => {
    if (error._tag === "MemberReplaced") return false
    return hasJoined ? isRejoinRetryable(error) : retryInitialConnect && isJoinRetryable(error)
  }
  const placeWait = yield* makePlaceWait({ name, office, role }, wait)
  const connectWithRetry = stayConnected.pipe(
    Effect.tapError((error) => {
      const { message: reason } = error
      if (!isRetryable(error) || loggedReasons.has(reason)) return Effect.void
      loggedReasons.add(reason)
      return Effect.logWarning("join failed, retrying", { office, reason })
    }),
    Effect.retry({ schedule: backoffSchedule(reconnectBackoff), while: isRetryable }),
    Effect.retry({
      schedule: placeWait.schedule,
      while: (error) =>
        !hasJoined && error._tag === "JoinRejected" ? placeWait.continues(error.current) : Effect.succeed(false)
    })
  )
  const delayShortLived = Effect.suspend(() =>
    shortLived > 1 ? Effect.flatMap(backoffDelay(reconnectBackoff, shortLived - 1), Effect.sleep) : Effect.void
  )

  yield* Effect.forever(Effect.andThen(connectWithRetry, delayShortLived)).pipe(
    Effect.catch((error) => {
      if (error._tag !== "MemberReplaced" && !hasJoined) return Deferred.fail(firstJoin, error)
      const phrase = error._tag === "MemberReplaced" ? "membership taken over" : "rejoin failed"
      return Effect.andThen(
        Effect.logError(phrase, { office, reason: error.message }),
        SubscriptionRef.set(status, { _tag: "Failed", error })
      )
    }),
    Effect.onError((cause) => Deferred.failCause(firstJoin, cause)),
    Effect.forkScoped
  )
  return yield* Deferred.await(firstJoin)
})
