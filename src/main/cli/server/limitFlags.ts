import { Config, Duration, Record } from "effect"
import { Flag } from "effect/cli"
import { Limits } from "../../../application/server/connections/Limits.ts"
import { maxIdentifierLength } from "../../../domain/model/names.ts"

/** A limit as operators set it: counts and bytes as they are, times in seconds. */
interface LimitRow {
  readonly flag: string
  readonly metavar: "NUMBER" | "BYTES" | "SECONDS"
  readonly min: number
  readonly max: number
  readonly description: string
  /** What whoever exceeds it is told. */
  readonly consequence: string
}

/** 0 stands for no limit. */
const countRange = { metavar: "NUMBER", min: 0, max: 1_000_000_000 } as const
const byteRange = { metavar: "BYTES", min: 0, max: 2 ** 40 } as const
const secondsRange = { metavar: "SECONDS", min: 0, max: 604_800 } as const
const lengthRange = { metavar: "NUMBER", min: 1, max: maxIdentifierLength } as const

/** Every limit of a Server: flags, variables and docs/limits.md come from here. */
const limitRows = {
  messagesPerSecond: {
    ...countRange,
    flag: "max-messages-per-second",
    description: "messages of one member in a second on average, answers not counted",
    consequence:
      "429 with `retry_after`; reports and cancellations are dropped; closed when it goes on at more than twice the rate"
  },
  messageBurst: {
    ...countRange,
    flag: "max-message-burst",
    description: "messages of one member at once",
    consequence: "as above"
  },
  callsPerAgent: {
    ...countRange,
    flag: "max-calls-per-agent",
    description: "calls of one Agent that wait for their answer",
    consequence: "429"
  },
  callsPerComputer: {
    ...countRange,
    flag: "max-calls-per-computer",
    description: "calls to one Computer that wait for its answer",
    consequence: "429 to the Agent"
  },
  connections: {
    ...countRange,
    flag: "max-connections",
    description: "connections to this Server",
    consequence: "`connect_error` with 503 and reason `too_many_connections`"
  },
  offices: {
    ...countRange,
    flag: "max-offices",
    description: "offices at once",
    consequence: "the join is answered `[false, reason]`"
  },
  membersPerOffice: {
    ...countRange,
    flag: "max-members-per-office",
    description: "members of one office",
    consequence: "the join is answered `[false, reason]`"
  },
  nameLength: {
    ...lengthRange,
    flag: "max-name-length",
    description: "characters of the name of a member",
    consequence: "the join is answered `[false, reason]`"
  },
  officeLength: {
    ...lengthRange,
    flag: "max-office-length",
    description: "characters of an office id",
    consequence: "the join is answered `[false, reason]`"
  },
  requestIdLength: {
    ...lengthRange,
    flag: "max-request-id-length",
    description: "characters of a request id",
    consequence: "400; a cancellation is dropped"
  },
  joinTimeout: {
    ...secondsRange,
    flag: "join-time",
    description: "how long a connection may sit in no office",
    consequence: "closed"
  },
  idleTimeout: {
    ...secondsRange,
    flag: "idle-time",
    description: "how long a member may neither send nor be sent anything",
    consequence: "closed"
  },
  notificationBacklogBytes: {
    ...byteRange,
    flag: "max-notice-backlog",
    description: "bytes that wait for a member before notifications to it are put off",
    consequence: "told later, and only what still matters; closed when that is more than 8192 notifications"
  },
  backlogBytes: {
    ...byteRange,
    flag: "max-backlog",
    description: "bytes that wait for a member",
    consequence: "closed; from half of it on new calls of an Agent are answered with 429"
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

/** The other way round. */
const toLimitSettings = ({ idleTimeout, joinTimeout, ...counts }: Limits): LimitSettings => {
  const infinityToZero = (limit: number) => (limit === Number.POSITIVE_INFINITY ? 0 : limit)
  return {
    ...Record.map(counts, infinityToZero),
    idleTimeout: infinityToZero(Duration.toSeconds(idleTimeout)),
    joinTimeout: infinityToZero(Duration.toSeconds(joinTimeout))
  }
}

const defaultSettings = toLimitSettings(Limits.defaultValue())

const envVariableOf = ({ flag }: LimitRow): string => `A2C_${flag.toUpperCase().replaceAll("-", "_")}`

const formatRange = ({ min, max }: LimitRow): string =>
  min === 0 ? `a number up to ${max}, or 0 for no limit` : `a number from ${min} to ${max}`

const formatUnlimited = ({ min }: LimitRow): string => (min === 0 ? ", 0 for no limit" : "")

/** A flag for every limit. */
export const limitFlags = Record.map(limitRows, (row: LimitRow, name) =>
  Flag.Int(row.flag).pipe(
    Flag.withMetavar(row.metavar),
    Flag.withDescription(
      `${row.description}${formatUnlimited(row)} [env ${envVariableOf(row)}; default: ${defaultSettings[name]}]`
    ),
    Flag.withFallbackConfig(Config.Int(envVariableOf(row))),
    Flag.withDefault(defaultSettings[name]),
    Flag.filter(
      (number) => number >= row.min && number <= row.max,
      () => formatRange(row)
    )
  )
)

const tableRow = (...cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

/** What docs/limits.md says about every limit. */
export const limitsTable: string = [
  tableRow("limit", "flag", "variable", "default", "what happens beyond it"),
  tableRow("---", "---", "---", "---", "---"),
  ...Record.toEntries<keyof Limits, LimitRow>(limitRows).map(([name, row]) =>
    tableRow(
      row.description,
      `\`--${row.flag} ${row.metavar}\``,
      `\`${envVariableOf(row)}\``,
      defaultSettings[name] === 0 ? "0, none" : String(defaultSettings[name]),
      row.consequence
    )
  )
].join("\n")
