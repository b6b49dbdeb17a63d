import { Clock, Effect, Semaphore } from "effect"
import { type ProtocolError, shuttingDown } from "../../../domain/model/ProtocolError.ts"
import { recordRejection, takeToken } from "../../../domain/tokenBucket.ts"
import type { Reply } from "../../ports/Transport.ts"
import {
  type ClientRequest,
  errorReply,
  isNotification,
  observeRejection,
  type RequestHandler
} from "./ClientRequest.ts"
import { type Connections, isMember } from "../connections/Connections.ts"
import { exceedLimit, Limits } from "../Limits.ts"
import { type RequestBudget, requestMemory } from "../connections/InFlightCalls.ts"
import { MembershipObservers } from "../observability/observers.ts"
import { Readiness } from "../observability/Readiness.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"

/** Milliseconds after which an Agent with a large send backlog may retry its call. */
const slowAgentRetryAfter = 1000

/** Milliseconds for which a client beyond its rate limit is not read from: TCP backpressure reaches the client. */
const rateLimitReadPause = 100

/** Joins and leaves of one client in progress. They are serialized, and a shared registry makes each of them slow. */
const maxPendingMembershipChanges = 16

/** Reports a rejected request to the observers, and gives its reply. */
type Reject = (request: ClientRequest, error: ProtocolError) => Effect.Effect<Reply>

/** Makes the function that runs the joins and leaves of each client one after the other, within its limits. */
const makeMembershipGuard =
  (requestBudget: RequestBudget, metrics: ServerMetrics["Service"], reject: Reject) =>
  (request: ClientRequest, handle: () => Effect.Effect<Reply>): Effect.Effect<Reply> => {
    const { connection } = request
    if (isMember(connection)) connection.outsideSince = connection.lastActivityAt
    if (connection.pendingMembershipChanges >= maxPendingMembershipChanges) {
      const message = `${maxPendingMembershipChanges} of your joins and leaves are under way: wait for them`
      return reject(request, exceedLimit(metrics, "pendingMembershipChanges", maxPendingMembershipChanges, message))
    }
    const bytes = requestMemory(request.body)
    const memoryError = requestBudget.check(connection, bytes)
    if (memoryError !== undefined) return reject(request, memoryError)
    // The first change holds the only permit of a lock that is made when another one waits.
    const isFirst = connection.pendingMembershipChanges === 0
    const running = isFirst
      ? handle()
      : (connection.membershipLock ??= Semaphore.makeUnsafe(0)).withPermit(Effect.suspend(handle))
    connection.pendingMembershipChanges += 1
    requestBudget.change(connection, bytes)
    // Closing the link interrupts changes that wait for the lock; the one that holds it is uninterruptible.
    return Effect.onExit(running, () => {
      requestBudget.change(connection, -bytes)
      connection.pendingMembershipChanges -= 1
      const lock = connection.membershipLock
      if (connection.pendingMembershipChanges === 0) connection.membershipLock = undefined
      return isFirst && lock !== undefined ? lock.release(1) : Effect.void
    })
  }

/**
 * Rejects requests before the handler decodes them: requests beyond the rate limit, calls of Agents that do not read
 * their replies, and joins and calls while the Server drains. Serializes the joins and leaves of each client.
 */
export const guardInbound = Effect.fnUntraced(function* (
  { connections, requestBudget }: { readonly connections: Connections; readonly requestBudget: RequestBudget },
  handle: RequestHandler
) {
  const clock = yield* Clock.Clock
  const limits = yield* Limits
  const metrics = yield* ServerMetrics
  const readiness = yield* Readiness
  const observers = yield* MembershipObservers
  const reject: Reject = (request, error) => {
    observeRejection(observers, request, error)
    return Effect.succeed(errorReply(request, error))
  }
  const guardMembershipChange = makeMembershipGuard(requestBudget, metrics, reject)
  const { backlogBytes, messageBurst: burst, messagesPerSecond: perSecond } = limits
  const rate = { burst, perSecond }
  const allowed = `${perSecond} messages a second, ${burst} at once`

  const rejectRateLimited = (request: ClientRequest, now: number, wait: number): Effect.Effect<Reply> => {
    const { connection } = request
    connection.link.pauseReading(rateLimitReadPause)
    const severity = recordRejection(connection.bucket, rate, now)
    if (severity === "flood") {
      const detail = `it went on sending far more than ${allowed}`
      connections.closeForLimit(connection, "messagesPerSecond", detail)
    }
    const error = exceedLimit(metrics, "messagesPerSecond", perSecond, `More than ${allowed}`, wait)
    if (isNotification(request.definition)) metrics.dropped("message")
    // Only the first one is reported: a flood must not displace other events from the audit.
    if (severity !== "first") return Effect.succeed(errorReply(request, error))
    const fields = { sid: connection.link.id, perSecond, burst }
    return Effect.andThen(Effect.logWarning("rate limit exceeded", fields), reject(request, error))
  }

  const guardCall = (request: ClientRequest) => {
    const backlog = request.connection.link.backlog()
    if (backlog <= backlogBytes / 2) return handle(request)
    const message = `${backlog} bytes wait for you: read them first`
    return reject(request, exceedLimit(metrics, "backlogBytes", backlogBytes, message, slowAgentRetryAfter))
  }

  const rejectDraining = (request: ClientRequest) =>
    readiness.isDraining() ? reject(request, shuttingDown()) : undefined

  const guarded: RequestHandler = (request) => {
    const { connection, definition } = request
    const now = clock.currentTimeMillisUnsafe()
    connection.lastActivityAt = now
    const wait = takeToken(connection.bucket, rate, now)
    if (wait > 0) return rejectRateLimited(request, now, wait)
    if (definition?.kind === "call") return rejectDraining(request) ?? guardCall(request)
    if (definition?.kind !== "join" && definition?.kind !== "leave") return handle(request)
    // Checked when the lock is free: the Server may begin to drain while the join waits.
    const check = definition.kind === "join" ? rejectDraining : () => undefined
    return Effect.suspend(() => guardMembershipChange(request, () => check(request) ?? handle(request)))
  }
  return guarded
})
