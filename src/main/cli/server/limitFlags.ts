import { Duration, Record } from "effect"
import type { Flag } from "effect/cli"
import { Limits } from "../../../application/server/connections/Limits.ts"
import { maxIdentifierLength } from "../../../domain/model/names.ts"
import { between, envVariableOf, setting } from "../setting.ts"

/** A limit as operators set it: counts and bytes, times in seconds. */
interface LimitRow {
  readonly flag: string
  readonly metavar: "NUMBER" | "BYTES" | "SECONDS"
  readonly min: number
  readonly max: number
  readonly help: string
  /** What a client that exceeds the limit observes. */
  readonly consequence: string
}

/** 0 disables the limit. */
const count = { metavar: "NUMBER", min: 0, max: 1_000_000_000 } as const
const bytes = { metavar: "BYTES", min: 0, max: 2 ** 40 } as const
const seconds = { metavar: "SECONDS", min: 0, max: 604_800 } as const
const length = { metavar: "NUMBER", min: 1, max: maxIdentifierLength } as const

const joinRejected = "the join is answered `[false, reason]`"

/** Every limit of a Server: flags, variables and docs/limits.md come from here. */
const limitRows = {
  messagesPerSecond: {
    ...count,
    flag: "max-messages-per-second",
    help: "messages of one member per second on average, replies not counted",
    consequence:
      "429 with `retry_after`; reports and cancellations are dropped; closed when it continues at more than twice the rate"
  },
  messageBurst: {
    ...count,
    flag: "max-message-burst",
    help: "messages of one member in a burst",
    consequence: "as above"
  },
  callsPerAgent: {
    ...count,
    flag: "max-calls-per-agent",
    help: "in-flight calls of one Agent",
    consequence: "429"
  },
  callsPerComputer: {
    ...count,
    flag: "max-calls-per-computer",
    help: "in-flight calls to one Computer",
    consequence: "429 to the Agent"
  },
  connections: {
    ...count,
    flag: "max-connections",
    help: "connections to this Server",
    consequence: "`connect_error` with 503 and reason `too_many_connections`"
  },
  offices: { ...count, flag: "max-offices", help: "offices at a time", consequence: joinRejected },
  membersPerOffice: {
    ...count,
    flag: "max-members-per-office",
    help: "members of one office",
    consequence: joinRejected
  },
  nameLength: {
    ...length,
    flag: "max-name-length",
    help: "characters of a member's name",
    consequence: joinRejected
  },
  officeLength: {
    ...length,
    flag: "max-office-length",
    help: "characters of an office id",
    consequence: joinRejected
  },
  requestIdLength: {
    ...length,
    flag: "max-request-id-length",
    help: "characters of a request id",
    consequence: "400; a cancellation is dropped"
  },
  joinTimeout: {
    ...seconds,
    flag: "join-time",
    help: "join timeout: time that a connection may stay outside of every office",
    consequence: "closed"
  },
  idleTimeout: {
    ...seconds,
    flag: "idle-time",
    help: "idle timeout: time that a member may stay without a message in either direction",
    consequence: "closed"
  },
  notificationBacklogBytes: {
    ...bytes,
    flag: "max-notice-backlog",
    help: "bytes queued for a member before its notifications are deferred",
    consequence: "sent later, and only those still relevant; closed at more than 8192 deferred notifications"
  },
  backlogBytes: {
    ...bytes,
    flag: "max-backlog",
    help: "bytes queued for a member",
    consequence: "closed; above half of it new calls of an Agent are answered with 429"
  }
} satisfies { readonly [L in keyof Limits]: LimitRow }

type LimitSettings = { readonly [L in keyof Limits]: number }

const zeroToInfinity = (number: number): number => (number === 0 ? Number.POSITIVE_INFINITY : number)

/** The limits that an operator has set. */
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
  return setting.int(flag, {
    metavar,
    help: min === 0 ? `${help}, 0 for no limit` : help,
    default: defaults[name],
    check: [accepts, min === 0 ? `a number up to ${max}, or 0 for no limit` : expected]
  })
}

/** A flag for every limit. */
export const limitFlags = Record.map(limitRows, flagOf)

const tableRow = (...cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

/** The table of docs/limits.md. */
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
