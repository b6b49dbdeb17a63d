import { Duration, Record } from "effect"
import type { Flag } from "effect/cli"
import { Limits } from "../../../application/server/connections/Limits.ts"
import { maxIdentifierLength } from "../../../domain/model/fields.ts"
import { between, envVariableOf, setting } from "../setting.ts"

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

/** Every limit of a Server, the source of flags and variables. A test compares docs/limits.md with it. */
const limitRows: { readonly [L in keyof Limits]: LimitRow } = {
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
  joinTimeout: seconds("join-time", "join timeout: time that a connection may stay outside of every office", "closed"),
  idleTimeout: seconds(
    "idle-time",
    "idle timeout: time that a member may stay without a message in either direction",
    "closed"
  ),
  notificationBacklogBytes: bytes(
    "max-notice-backlog",
    "bytes queued for a member before its notifications are deferred",
    "sent later, and only those still relevant; closed at more than 8192 deferred notifications"
  ),
  backlogBytes: bytes(
    "max-backlog",
    "bytes queued for a member",
    "closed; above half of it new calls of an Agent are answered with 429"
  )
}

type LimitSettings = { readonly [L in keyof Limits]: number }

const zeroToInfinity = (number: number): number => (number === 0 ? Number.POSITIVE_INFINITY : number)

export const toLimits = ({ idleTimeout, joinTimeout, ...counts }: LimitSettings): Limits => ({
  ...Record.map(counts, zeroToInfinity),
  idleTimeout: Duration.seconds(zeroToInfinity(idleTimeout)),
  joinTimeout: Duration.seconds(zeroToInfinity(joinTimeout))
})

/** The defaults as operators set limits; the inverse of `toLimits`. */
const defaults: LimitSettings = Record.map(Limits.defaultValue(), (limit: number | Duration.Duration) => {
  const number = Duration.isDuration(limit) ? Duration.toSeconds(limit) : limit
  return number === Number.POSITIVE_INFINITY ? 0 : number
})

const flagOf = ({ flag, help, max, metavar, min }: LimitRow, name: keyof Limits): Flag.Flag<number> => {
  const [accepts, expected] = between(min, max)
  return setting.int(flag, min === 0 ? `${help}, 0 for no limit` : help, {
    metavar,
    default: defaults[name],
    check: [accepts, min === 0 ? `a number up to ${max}, or 0 for no limit` : expected]
  })
}

export const limitFlags = Record.map(limitRows, flagOf)

const tableRow = (...cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

export const limitsTable: string = [
  tableRow("limit", "flag", "variable", "default", "beyond it"),
  tableRow("---", "---", "---", "---", "---"),
  ...Record.toEntries<keyof Limits, LimitRow>(limitRows).map(([name, { consequence, flag, help, metavar }]) =>
    tableRow(
      help,
      `\`--${flag} ${metavar}\``,
      `\`${envVariableOf(flag)}\``,
      defaults[name] === 0 ? "0, none" : String(defaults[name]),
      consequence
    )
  )
].join("\n")
