import { Clock, Effect, Option, Semaphore } from "effect"
import type { EventDefinition } from "../../../domain/wire/lines.ts"
import { shuttingDown, type ProtocolError, tooManyRequests } from "../../../domain/model/ProtocolError.ts"
import { recordRejection, type RateLimit, takeToken } from "../../../domain/tokenBucket.ts"
import type { Reply, MessageHandler } from "../../ports/Transport.ts"
import { isNotification, errorReply } from "../routing/replies.ts"
import { type Connection, Connections } from "./Connections.ts"
import { Limits, formatLimitName } from "./Limits.ts"
import { MembershipCoordinator } from "../membership/MembershipCoordinator.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"

/** How long an Agent that reads too slowly is asked to wait before its next call, in milliseconds. */
const slowAgentRetryAfter = 1000

/** How long a member that sends too much is not read from, in milliseconds: its messages wait where they come from. */
const rateLimitReadPause = 100

/**
 * How many joins and leaves of one member may be under way: they take their turn, and where offices are shared each of
 * them takes longer than the next one takes to come.
 */
const maxPendingMembershipChanges = 16

/**
 * What stands before the receiver of every connection: too many messages, calls of Agents that do not read the answers,
 * and what a Server that goes down does not begin any more are refused here, before anybody looks into them.
 */
export const makeInboundGuard = Effect.gen(function* () {
  const coordinator = yield* MembershipCoordinator
  const connections = yield* Connections
  const { backlogBytes, messageBurst: burst, messagesPerSecond: perSecond } = yield* Limits
  const clock = yield* Clock.Clock
  const metrics = yield* ServerMetrics
  const rate: RateLimit = { burst, perSecond }

  const reject = (
    { line }: Connection,
    definition: EventDefinition | undefined,
    limit: keyof Limits | "moves",
    error: ProtocolError
  ): Reply => {
    metrics.limitExceeded(limit)
    if (isNotification(definition)) metrics.dropped("message")
    return errorReply(line, definition, error)
  }

  const rejectRateLimited = (
    connection: Connection,
    definition: EventDefinition | undefined,
    now: number,
    wait: number
  ): Effect.Effect<Reply> => {
    connection.link.pauseReading(rateLimitReadPause)
    const allowed = `${perSecond} messages a second, ${burst} at once`
    const severity = recordRejection(connection.bucket, rate, now)
    if (severity === "flood") {
      connections.closeForLimit(
        connection,
        "messagesPerSecond",
        `it went on sending far more than ${allowed}`
      )
    }
    const error = tooManyRequests(
      `More than ${allowed}`,
      formatLimitName("messagesPerSecond"),
      perSecond,
      Math.ceil(wait)
    )
    const reply = reject(connection, definition, "messagesPerSecond", error)
    if (severity !== "first") return Effect.succeed(reply)
    return Effect.as(Effect.logWarning("messages refused", { sid: connection.link.id, allowed }), reply)
  }

  const isMember = ({ link }: Connection): boolean =>
    Option.exists(coordinator.session(link.id), ({ membership }) => Option.isSome(membership))

  const guardCall = (
    connection: Connection,
    definition: EventDefinition,
    receiving: Effect.Effect<Reply>
  ) => {
    const backlog = connections.checkBacklog(connection)
    if (backlog <= backlogBytes / 2) return receiving
    const error = tooManyRequests(
      `${backlog} bytes wait for you: read them first`,
      formatLimitName("backlogBytes"),
      backlogBytes,
      slowAgentRetryAfter
    )
    return Effect.succeed(reject(connection, definition, "backlogBytes", error))
  }

  const releaseMembershipChange = (connection: Connection) =>
    Effect.sync(() => {
      connection.pendingMembershipChanges -= 1
    })

  const guardMembershipChange = (
    connection: Connection,
    definition: EventDefinition,
    receiving: Effect.Effect<Reply>
  ) => {
    if (isMember(connection)) connection.outsideSince = connection.lastActivityAt
    if (connection.pendingMembershipChanges >= maxPendingMembershipChanges) {
      const message = `${maxPendingMembershipChanges} of your joins and leaves are under way: wait for them`
      return Effect.succeed(
        reject(
          connection,
          definition,
          "moves",
          tooManyRequests(message, "moves", maxPendingMembershipChanges)
        )
      )
    }
    return Effect.suspend(() => {
      connection.pendingMembershipChanges += 1
      connection.membershipLock ??= Semaphore.makeUnsafe(1)
      // What waits for its turn is given up when the connection is lost; what is under way is not.
      return Effect.ensuring(
        connection.membershipLock.withPermit(receiving),
        releaseMembershipChange(connection)
      )
    })
  }

  /** `draining` says that no call and no stay in an office may begin any more. */
  return (connection: Connection, receive: MessageHandler, draining: () => boolean): MessageHandler =>
    (event, body) => {
      const now = clock.currentTimeMillisUnsafe()
      connection.lastActivityAt = now
      const definition = connection.line.findEventDefinition(event)
      const wait = takeToken(connection.bucket, rate, now)
      if (wait > 0) return rejectRateLimited(connection, definition, now, wait)
      const rejectDraining = () => Effect.succeed(errorReply(connection.line, definition, shuttingDown()))
      if (definition?.kind === "call") {
        return draining() ? rejectDraining() : guardCall(connection, definition, receive(event, body))
      }
      if (definition?.kind === "join") {
        // It may have to wait for its turn, and the Server may go down meanwhile.
        const joining = Effect.suspend(() => (draining() ? rejectDraining() : receive(event, body)))
        return guardMembershipChange(connection, definition, joining)
      }
      return definition?.kind === "leave"
        ? guardMembershipChange(connection, definition, receive(event, body))
        : receive(event, body)
    }
})
