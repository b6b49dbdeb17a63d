import { Clock, Data, Deferred, Duration, Effect, Match, Result, type Scope, SubscriptionRef } from "effect"
import { defaultLineName, type LineName, lineNamed, linesNamed, linesWithin } from "../../domain/wire/lines.ts"
import { keepsOperatorNames, type MemberFeature } from "../../domain/office/memberFeatures.ts"
import {
  hasJoined,
  initialMember,
  type MemberCommand,
  type MemberEvent,
  memberTransition
} from "../../domain/office/memberLifecycle.ts"
import type { ProtocolLine } from "../../domain/wire/ProtocolLine.ts"
import type { Role } from "../../domain/model/Membership.ts"
import type { Backoff } from "../../domain/time/backoff.ts"
import { type CurrentMember, parseMembershipConflict } from "../../domain/office/membershipConflict.ts"
import { definedOnly } from "../../domain/objects.ts"
import { formatVersion } from "../../domain/wire/version.ts"
import { secureRandomHex } from "../shared/secureRandom.ts"
import { backoffDelay, reconnectBackoff } from "../shared/backoff.ts"
import { startCountdown } from "../shared/startCountdown.ts"
import { type Body, jsonBody } from "../ports/Body.ts"
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
    ...args: Parameters<Link["request"]>
  ) => Effect.Effect<Reply, LinkClosed | RequestTimeout | SendFailed | NotPermitted>
  readonly notify: (...args: Parameters<Link["notify"]>) => Effect.Effect<void, LinkClosed | SendFailed | NotPermitted>
  /** Maximum body size that the Server accepts, in bytes of JSON text; infinite while disconnected. */
  readonly maxBytes: () => number
  readonly fits: (body: Body) => boolean
  /** True while its Server lets no member take the name of an operator. */
  readonly provesOperators: () => boolean
}

type Binding = MemberHandlers & { readonly member: OfficeMember }

type Connected = Binding & { readonly link: Link; readonly provesOperators: boolean }

type JoinOptions = MemberOptions & { readonly instance?: string }

const joinTimeout = Duration.seconds(20)

const waitBackoff: Backoff = { initial: Duration.millis(500), max: Duration.seconds(2) }

/** Makes a secret of 128 bits in hexadecimal. */
export const makeInstanceSecret = (): string => secureRandomHex(16)

/** Connects on the newest line that the Server accepts. Fails with the last rejection. */
const connectOnNewestLine = <A, R>(
  connect: (line: ProtocolLine) => Effect.Effect<A, ConnectError, R>,
  [line, ...others]: ReadonlyArray<ProtocolLine> = linesNamed().toReversed()
): Effect.Effect<A, ConnectError, R> =>
  line === undefined
    ? Effect.die("no protocol line")
    : Effect.catchTag(connect(line), "VersionRejected", (rejection) => {
        const { mismatch } = rejection
        const accepted =
          mismatch === undefined ? others : others.filter((other) => linesWithin(mismatch).includes(other))
        return accepted.length === 0 ? Effect.fail(rejection) : connectOnNewestLine(connect, accepted)
      })

/** Makes the effect that opens a link of a member on its line, which the first connection chooses. */
const makeConnect = Effect.fnUntraced(function* (
  { features = [], instance = makeInstanceSecret(), office, protocol = defaultLineName, role }: JoinOptions,
  bind: (line: ProtocolLine) => Binding,
  onReplaced: Effect.Effect<void>
) {
  const transport = yield* TransportClient
  let chosen = protocol === "auto" ? undefined : bind(lineNamed(protocol))
  const connect = Effect.fnUntraced(function* (binding: Binding) {
    const { line } = binding.member
    const onMessage: MessageHandler = (event, body) =>
      Effect.suspend(() => (event === line.replacedEvent ? Effect.as(onReplaced, []) : binding.onMessage(event, body)))
    const announced = features.length === 0 ? {} : { a2c_features: features }
    // The Server recognises this member by the secret and replaces its stale connection.
    const auth = { ...(line.hasRoleInHandshake && { role }), instance, ...announced }
    const link = yield* transport.connect({ version: formatVersion(line.version), auth, office, onMessage })
    chosen = binding
    return { link, ...binding }
  })
  return Effect.suspend(() =>
    chosen === undefined ? connectOnNewestLine((line) => connect(bind(line))) : connect(chosen)
  )
})

/** Joins the office over a link. Gives whether the Server lets no member take the name of an operator. */
const sendJoin = Effect.fnUntraced(function* (
  link: Link,
  { decodeMembershipAck, serverRequests: { join } }: ProtocolLine,
  { name, office, role, takeOver }: Pick<MemberOptions, "name" | "office" | "role" | "takeOver">
): Effect.fn.Return<boolean, JoinFailed> {
  const body = jsonBody(join.request.encode({ role, name, officeId: office, ...(takeOver === true && { takeOver }) }))
  const reply = yield* link.request(join.event, body, joinTimeout).pipe(
    Effect.tapErrorTag("RequestTimeout", () => link.close("join_timeout")),
    Effect.mapError(() => new Unreachable({ message: "The Server did not reply to the join request in time" }))
  )
  const values = reply.map(({ head }) => Result.getOrElse(head, () => undefined))
  yield* Effect.mapError(Effect.fromResult(decodeMembershipAck(values)), (message) => {
    const current = parseMembershipConflict({ office, role }, message)
    return new JoinRejected({ office, message, ...definedOnly({ current }) })
  })
  return keepsOperatorNames(values)
})

const logPlaceTaken = ({ name, office, role, wait = Duration.zero }: MemberOptions, current: CurrentMember) => {
  const since = current.joinedAt === undefined ? undefined : new Date(current.joinedAt).toISOString()
  const timeout = Duration.isFinite(wait) ? Duration.format(wait) : "none"
  const fields = definedOnly({ office, [role]: role === "agent" ? current.name : name, since, timeout })
  return Effect.logWarning("waiting until the place is free", fields)
}

const makeMember = (
  line: ProtocolLine,
  role: Role,
  status: OfficeMember["status"],
  connected: () => Connected | undefined
): OfficeMember => {
  const withLink = Effect.fnUntraced(function* <A, E>(event: string, send: (link: Link) => Effect.Effect<A, E>) {
    const from = line.findEventDefinition(event)?.from
    if (from !== role && from !== "member") return yield* new NotPermitted({ event, role })
    return yield* send(connected()?.link ?? (yield* new LinkClosed({ reason: "not connected" })))
  })
  return {
    line,
    status,
    request: (event, ...request) => withLink(event, (link) => link.request(event, ...request)),
    notify: (event, body) => withLink(event, (link) => link.notify(event, body)),
    maxBytes: () => connected()?.link.maxBytes() ?? Number.POSITIVE_INFINITY,
    fits: (body) => connected()?.link.fits(body) ?? true,
    provesOperators: () => connected()?.provesOperators ?? false
  }
}

/** Makes the cell of a member's state, and executes the commands of {@link memberTransition}. */
const makeLifecycle = Effect.fnUntraced(function* (options: MemberOptions) {
  const { name, office, retryInitialConnect = false, role } = options
  const status = yield* SubscriptionRef.make<MemberStatus>({ _tag: "Disconnected", reason: "not connected" })
  const firstJoin = yield* Deferred.make<OfficeMember, JoinFailed>()
  let state = initialMember(retryInitialConnect)
  let connected: Connected | undefined

  const end = (phrase: string, error: JoinFailed | MemberReplaced) =>
    Effect.andThen(
      Effect.logError(phrase, { office, reason: error.message }),
      SubscriptionRef.set(status, { _tag: "Failed", error })
    )

  const announceJoin = Effect.fnUntraced(function* ({ member, onJoined }: Connected, isRejoin: boolean) {
    yield* SubscriptionRef.set(status, { _tag: "Joined" })
    yield* Effect.logDebug("joined office", { office, name, role, line: member.line.name })
    yield* onJoined
    if (isRejoin) yield* Effect.logInfo("rejoined office", { office })
    yield* Deferred.succeed(firstJoin, member)
  })

  const announceLoss = Effect.fnUntraced(function* ({ onLost }: Connected, reason: string) {
    connected = undefined
    yield* SubscriptionRef.set(status, { _tag: "Disconnected", reason })
    yield* Effect.logWarning("connection lost", { office, reason })
    yield* onLost(reason)
  })

  const execute = Match.typeTags<MemberCommand<JoinFailed>, Effect.Effect<unknown>>()({
    AnnounceJoin: ({ isRejoin }) => (connected === undefined ? Effect.void : announceJoin(connected, isRejoin)),
    AnnounceLoss: ({ reason }) => (connected === undefined ? Effect.void : announceLoss(connected, reason)),
    LogRetry: ({ reason }) => Effect.logWarning("join failed, retrying", { office, reason }),
    LogPlaceTaken: ({ current }) => logPlaceTaken(options, current),
    FailFirstJoin: ({ failure }) => Deferred.fail(firstJoin, failure),
    FailRejoin: ({ failure }) => end("rejoin failed", failure),
    GiveWay: () => end("membership taken over", new MemberReplaced({ office, name }))
  })

  return {
    status,
    firstJoin,
    state: () => state,
    connected: () => connected,
    setConnected: (next: Connected) => void (connected = next),
    apply: (event: MemberEvent<JoinFailed>) =>
      Effect.suspend(() => {
        const [next, commands] = memberTransition(state, event)
        state = next
        return Effect.forEach(commands, execute, { discard: true })
      })
  }
})

/**
 * Joins an office and stays a member until the scope closes. Resolves after the first join. A member that loses its
 * connection rejoins with backoff until the Server reports a permanent failure.
 */
export const joinOffice = Effect.fnUntraced(function* (
  options: JoinOptions,
  makeHandlers: (member: OfficeMember) => MemberHandlers
): Effect.fn.Return<OfficeMember, JoinFailed, Scope.Scope | TransportClient> {
  const { role, takeOver = false, wait = Duration.zero } = options
  const { apply, connected, firstJoin, setConnected, state, status } = yield* makeLifecycle(options)
  const placeTime = yield* startCountdown(wait)
  const toBinding = (member: OfficeMember): Binding => ({ ...makeHandlers(member), member })
  const bind = (line: ProtocolLine) => toBinding(makeMember(line, role, status, connected))
  const connect = yield* makeConnect(options, bind, apply({ _tag: "Replaced" }))

  const stayConnected = Effect.gen(function* () {
    const { link, ...binding } = yield* connect
    yield* binding.onConnected ?? Effect.void
    const terms = { ...options, takeOver: takeOver && !hasJoined(state()) }
    const provesOperators = yield* sendJoin(link, binding.member.line, terms)
    setConnected({ link, ...binding, provesOperators })
    yield* apply({ _tag: "Joined" })
    const since = yield* Clock.currentTimeMillis
    const reason = yield* link.closed
    yield* apply({ _tag: "Lost", reason, lastedMillis: (yield* Clock.currentTimeMillis) - since })
  }).pipe(
    Effect.scoped,
    Effect.catch((failure) =>
      Effect.flatMap(placeTime, (left) => apply({ _tag: "JoinFailed", failure, placeMillis: Duration.toMillis(left) }))
    )
  )

  const live = Effect.gen(function* () {
    for (let current = state(); current._tag !== "Ended"; current = state()) {
      if (current._tag === "Waiting") {
        const isForServer = current.for === "server"
        const delay = yield* backoffDelay(isForServer ? reconnectBackoff : waitBackoff, current.attempt)
        yield* Effect.sleep(isForServer ? delay : Duration.min(delay, yield* placeTime))
        yield* apply({ _tag: "WaitOver" })
      } else yield* stayConnected
    }
  })
  yield* Effect.forkScoped(Effect.onError(live, (cause) => Deferred.failCause(firstJoin, cause)))
  return yield* Deferred.await(firstJoin)
})
