import { Context, Duration, Record } from "effect"
import { maxIdentifierLength } from "../../domain/model/fields.ts"
import { type ProtocolError, tooManyRequests } from "../../domain/model/ProtocolError.ts"
import type { ServerMetrics } from "./observability/ServerMetrics.ts"

/** A limit: its default, and how operators set it. */
export interface LimitRow<A extends number | Duration.Duration = number | Duration.Duration> {
  readonly byDefault: A
  /** The name of the flag; the variable follows from it. */
  readonly flag: string
  readonly help: string
  /** What a client that exceeds the limit observes. */
  readonly consequence: string
  readonly metavar: "NUMBER" | "BYTES" | "SECONDS"
  /** The numbers that operators may set. 0 disables a limit whose minimum is 0. */
  readonly min: number
  readonly max: number
}

const kind =
  <A extends number | Duration.Duration>(metavar: LimitRow["metavar"], min: number, max: number) =>
  (byDefault: A, flag: string, help: string, consequence: string): LimitRow<A> => ({
    byDefault,
    flag,
    help,
    consequence,
    metavar,
    min,
    max
  })

const count = kind<number>("NUMBER", 0, 1_000_000_000)
const bytes = kind<number>("BYTES", 0, 2 ** 40)
const seconds = kind<Duration.Duration>("SECONDS", 0, 604_800)
/** UTF-16 units. The protocol bounds lengths. */
const length = kind<number>("NUMBER", 1, maxIdentifierLength)

const mebibyte = 1024 ** 2

const joinRejected = "the join is answered `[false, reason]`"

/** The limits of a Server, from which flags, variables and docs/limits.md follow. */
export const limitRows = {
  messagesPerSecond: count(
    5000,
    "max-messages-per-second",
    "messages of one member per second on average, replies not counted",
    "429 with `retry_after`; reports and cancellations are dropped; closed when it continues at more than twice the rate"
  ),
  messageBurst: count(10_000, "max-message-burst", "messages of one member in a burst", "as above"),
  callsPerAgent: count(256, "max-calls-per-agent", "in-flight calls of one Agent", "429"),
  callsPerComputer: count(256, "max-calls-per-computer", "in-flight calls to one Computer", "429 to the Agent"),
  connections: count(
    10_000,
    "max-connections",
    "connections to this Server",
    "`connect_error` with 503 and reason `too_many_connections`"
  ),
  offices: count(10_000, "max-offices", "offices at a time", joinRejected),
  membersPerOffice: count(1000, "max-members-per-office", "members of one office", joinRejected),
  nameLength: length(maxIdentifierLength, "max-name-length", "characters of a member's name", joinRejected),
  officeLength: length(maxIdentifierLength, "max-office-length", "characters of an office id", joinRejected),
  requestIdLength: length(
    maxIdentifierLength,
    "max-request-id-length",
    "characters of a request id",
    "400; a cancellation is dropped"
  ),
  joinTimeout: seconds(
    Duration.seconds(60),
    "join-timeout",
    "time that a connection may stay outside of every office",
    "closed"
  ),
  idleTimeout: seconds(
    Duration.infinity,
    "idle-timeout",
    "time that a member may stay without a message in either direction",
    "closed"
  ),
  notificationBacklogBytes: bytes(
    4 * mebibyte,
    "max-notification-backlog",
    "bytes queued for a member before its notifications are deferred",
    "sent later, and only those still relevant; closed at more than 8192 deferred notifications"
  ),
  backlogBytes: bytes(
    64 * mebibyte,
    "max-backlog",
    "bytes queued for a member",
    "closed; above half of it new calls of an Agent are answered with 429"
  )
}

/**
 * The limits of what all members together may hold. The defaults suit a machine with 4 GiB; a host should derive them from
 * its memory, as the command does.
 */
export const memoryLimitRows = {
  totalBacklogBytes: bytes(
    1024 * mebibyte,
    "max-total-backlog",
    "bytes queued for all members together",
    "the slowest readers are closed"
  ),
  totalIncompleteBytes: bytes(
    512 * mebibyte,
    "max-total-incomplete",
    "bytes of messages received in part, of all connections together",
    "the slowest senders are closed"
  ),
  totalRequestBytes: bytes(
    512 * mebibyte,
    "max-total-requests",
    "memory of requests in progress, of all members together; a member may hold as much as is free for the others",
    "429; joins and leaves are answered `[false, reason]`"
  )
}

type ValuesOf<Rows extends { readonly [limit: string]: LimitRow }> = {
  readonly [L in keyof Rows]: Rows[L]["byDefault"]
}

/** Infinity disables a limit, except for lengths. docs/limits.md lists flags and errors. */
export interface Limits extends ValuesOf<typeof limitRows>, ValuesOf<typeof memoryLimitRows> {}

/** The limits of a Server; the defaults are generous for well-behaved clients. */
export const Limits = Context.Reference<Limits>("a2c-smcp/application/server/Limits", {
  defaultValue: () =>
    Record.map({ ...limitRows, ...memoryLimitRows }, (row: LimitRow) => row.byDefault) as {
      readonly [L in keyof Limits]: Limits[L]
    }
})

/** Counts a request beyond a limit, and gives its error. Milliseconds after which its client may retry are optional. */
export const exceedLimit = (
  { limitExceeded }: Pick<ServerMetrics["Service"], "limitExceeded">,
  limit: keyof Limits | "pendingMembershipChanges",
  max: number,
  message: string,
  retryAfter?: number
): ProtocolError => {
  limitExceeded(limit)
  return tooManyRequests(message, formatLimitName(limit), max, retryAfter)
}

/** The name of a limit in protocol errors and metrics: snake case. */
export const formatLimitName = (limit: string) => limit.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

export interface ServerSettings {
  /** Timeout of requests that set no timeout. */
  readonly routingTimeout: Duration.Duration
  /** Added to the timeout that a request sets, for transit in both directions. */
  readonly timeoutGrace: Duration.Duration
  /** Time limit of calls in flight during a graceful shutdown; zero aborts them. */
  readonly drainTimeout: Duration.Duration
  /** Reject connections without a role in the handshake (spec §15, row 35), on lines that have it there. */
  readonly requireRole: boolean
}

/** The settings of a Server; the default timeouts are those of the protocol (spec §4.3). */
export const ServerSettings = Context.Reference<ServerSettings>(
  "a2c-smcp/application/server/lifecycle/ServerSettings",
  {
    defaultValue: () => ({
      routingTimeout: Duration.seconds(30),
      timeoutGrace: Duration.seconds(5),
      drainTimeout: Duration.zero,
      requireRole: false
    })
  }
)
