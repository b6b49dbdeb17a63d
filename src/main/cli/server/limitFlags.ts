import { Duration, Record, UndefinedOr } from "effect"
import type { Flag } from "effect/cli"
import { type MemoryLimits, memoryShares } from "../../../adapters/process/memoryLimits.ts"
import { Limits } from "../../../application/server/Limits.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { maxIdentifierLength } from "../../../domain/model/fields.ts"
import { between, envVariableOf, setting } from "../flags/setting.ts"

/**
 * A kind of limits, as operators set them: counts and bytes, times in seconds. 0 disables a limit whose minimum is 0.
 * The consequence is what a client that exceeds the limit observes.
 */
const kind =
  (metavar: "NUMBER" | "BYTES" | "SECONDS", min: number, max: number) =>
  (flag: string, help: string, consequence: string) => ({ metavar, min, max, flag, help, consequence })

type LimitRow = ReturnType<ReturnType<typeof kind>>

const count = kind("NUMBER", 0, 1_000_000_000)
const bytes = kind("BYTES", 0, 2 ** 40)
const seconds = kind("SECONDS", 0, 604_800)
const length = kind("NUMBER", 1, maxIdentifierLength)

const joinRejected = "the join is answered `[false, reason]`"

/** The limits of a Server without {@link memoryRows}, the source of flags and variables. */
const limitRows: { readonly [L in Exclude<keyof Limits, keyof MemoryLimits>]: LimitRow } = {
  messagesPerSecond: count(
    "max-messages-per-second",
    "messages of one member per second on average, replies not counted",
    "429 with `retry_after`; reports and cancellations are dropped; closed when it continues at more than twice the rate"
  ),
  messageBurst: count("max-message-burst", "messages of one member in a burst", "as above"),
  callsPerAgent: count("max-calls-per-agent", "in-flight calls of one Agent", "429"),
  callsPerComputer: count("max-calls-per-computer", "in-flight calls to one Computer", "429 to the Agent"),
  connections: count(
    "max-connections",
    "connections to this Server",
    "`connect_error` with 503 and reason `too_many_connections`"
  ),
  offices: count("max-offices", "offices at a time", joinRejected),
  membersPerOffice: count("max-members-per-office", "members of one office", joinRejected),
  nameLength: length("max-name-length", "characters of a member's name", joinRejected),
  officeLength: length("max-office-length", "characters of an office id", joinRejected),
  requestIdLength: length("max-request-id-length", "characters of a request id", "400; a cancellation is dropped"),
  joinTimeout: seconds("join-timeout", "time that a connection may stay outside of every office", "closed"),
  idleTimeout: seconds("idle-timeout", "time that a member may stay without a message in either direction", "closed"),
  notificationBacklogBytes: bytes(
    "max-notification-backlog",
    "bytes queued for a member before its notifications are deferred",
    "sent later, and only those still relevant; closed at more than 8192 deferred notifications"
  ),
  backlogBytes: bytes(
    "max-backlog",
    "bytes queued for a member",
    "closed; above half of it new calls of an Agent are answered with 429"
  )
}

/** The limits whose default is a share of the memory. */
const memoryRows: { readonly [L in keyof MemoryLimits]: LimitRow } = {
  totalBacklogBytes: bytes(
    "max-total-backlog",
    "bytes queued for all members together",
    "the slowest readers are closed"
  ),
  totalIncompleteBytes: bytes(
    "max-total-incomplete",
    "bytes of messages received in part, of all connections together",
    "the slowest senders are closed"
  ),
  totalRequestBytes: bytes(
    "max-total-requests",
    "memory of requests in progress, of all members together; a member may hold as much as is free for the others",
    "429; joins and leaves are answered `[false, reason]`"
  )
}

type FixedLimits = Omit<Limits, keyof MemoryLimits>

type LimitSettings = { readonly [L in keyof FixedLimits]: number } & {
  readonly [L in keyof MemoryLimits]: number | undefined
}

const zeroToInfinity = (number: number): number => (number === 0 ? Number.POSITIVE_INFINITY : number)

/** The limits that operators have set, and the defaults of those that do not depend on the memory. */
export const toLimits = ({
  idleTimeout,
  joinTimeout,
  totalBacklogBytes,
  totalIncompleteBytes,
  totalRequestBytes,
  ...counts
}: LimitSettings): FixedLimits & Partial<MemoryLimits> => ({
  ...Record.map(counts, zeroToInfinity),
  ...definedOnly(
    Record.map({ totalBacklogBytes, totalIncompleteBytes, totalRequestBytes }, UndefinedOr.map(zeroToInfinity))
  ),
  idleTimeout: Duration.seconds(zeroToInfinity(idleTimeout)),
  joinTimeout: Duration.seconds(zeroToInfinity(joinTimeout))
})

/** A default as operators set limits; the inverse of `toLimits`. */
const defaultOf = (name: keyof FixedLimits): number => {
  const limit = Limits.defaultValue()[name]
  const number = Duration.isDuration(limit) ? Duration.toSeconds(limit) : limit
  return number === Number.POSITIVE_INFINITY ? 0 : number
}

const helpOf = ({ help, min }: LimitRow): string => (min === 0 ? `${help}, 0 for no limit` : help)

const rowOf = ({ max, metavar, min }: LimitRow) => {
  const [accepts, expected] = between(min, max)
  return { metavar, check: [accepts, min === 0 ? `a number up to ${max}, or 0 for no limit` : expected] } as const
}

const shareOf = (name: keyof MemoryLimits): string => `1/${memoryShares[name]} of the memory`

export const limitFlags = {
  ...Record.map(
    limitRows,
    (row, name): Flag.Flag<number> => setting.int(row.flag, helpOf(row), { ...rowOf(row), default: defaultOf(name) })
  ),
  ...Record.map(
    memoryRows,
    (row, name): Flag.Flag<number | undefined> =>
      setting.int(row.flag, helpOf(row), { ...rowOf(row), shown: shareOf(name) })
  )
}

const tableRow = (...cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const limitTableRow = ({ consequence, flag, help, metavar }: LimitRow, defaultText: string): string =>
  tableRow(help, `\`--${flag} ${metavar}\``, `\`${envVariableOf(flag)}\``, defaultText, consequence)

/** A test compares docs/limits.md with it. */
export const limitsTable: string = [
  tableRow("limit", "flag", "variable", "default", "beyond it"),
  tableRow("---", "---", "---", "---", "---"),
  ...Record.toEntries<keyof FixedLimits, LimitRow>(limitRows).map(([name, row]) =>
    limitTableRow(row, defaultOf(name) === 0 ? "0, none" : String(defaultOf(name)))
  ),
  ...Record.toEntries<keyof MemoryLimits, LimitRow>(memoryRows).map(([name, row]) => limitTableRow(row, shareOf(name)))
].join("\n")
