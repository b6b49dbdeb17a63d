import { Config, Duration, Record } from "effect"
import { Flag } from "effect/cli"
import { Limits } from "../../application/server/Limits.ts"
import { mostIdentifierLength } from "../../domain/protocol/v0_2/fields.ts"

/** A limit as operators set it: counts and bytes as they are, times in seconds. */
interface LimitRow {
  readonly flag: string
  readonly metavar: "NUMBER" | "BYTES" | "SECONDS"
  readonly least: number
  readonly most: number
  readonly meaning: string
  /** What whoever exceeds it is told. */
  readonly answer: string
}

/** 0 stands for no limit. */
const count = { metavar: "NUMBER", least: 0, most: 1_000_000_000 } as const
const bytes = { metavar: "BYTES", least: 0, most: 2 ** 40 } as const
const seconds = { metavar: "SECONDS", least: 0, most: 604_800 } as const
const length = { metavar: "NUMBER", least: 1, most: mostIdentifierLength } as const

/** Every limit of a Server: flags, variables and docs/limits.md come from here. */
const rows = {
  messagesPerSecond: {
    ...count,
    flag: "max-messages-per-second",
    meaning: "messages of one member in a second on average, answers not counted",
    answer:
      "429 with `retry_after`; reports and cancellations are dropped; closed when it goes on at more than twice the rate"
  },
  messageBurst: {
    ...count,
    flag: "max-message-burst",
    meaning: "messages of one member at once",
    answer: "as above"
  },
  callsPerAgent: {
    ...count,
    flag: "max-calls-per-agent",
    meaning: "calls of one Agent that wait for their answer",
    answer: "429"
  },
  callsPerComputer: {
    ...count,
    flag: "max-calls-per-computer",
    meaning: "calls to one Computer that wait for its answer",
    answer: "429 to the Agent"
  },
  connections: {
    ...count,
    flag: "max-connections",
    meaning: "connections to this Server",
    answer: "`connect_error` with 503 and reason `too_many_connections`"
  },
  offices: {
    ...count,
    flag: "max-offices",
    meaning: "offices at once",
    answer: "the join is answered `[false, reason]`"
  },
  membersPerOffice: {
    ...count,
    flag: "max-members-per-office",
    meaning: "members of one office",
    answer: "the join is answered `[false, reason]`"
  },
  nameLength: {
    ...length,
    flag: "max-name-length",
    meaning: "characters of the name of a member",
    answer: "the join is answered `[false, reason]`"
  },
  officeLength: {
    ...length,
    flag: "max-office-length",
    meaning: "characters of an office id",
    answer: "the join is answered `[false, reason]`"
  },
  requestIdLength: {
    ...length,
    flag: "max-request-id-length",
    meaning: "characters of a request id",
    answer: "400; a cancellation is dropped"
  },
  joinTime: {
    ...seconds,
    flag: "join-time",
    meaning: "how long a connection may sit in no office",
    answer: "closed"
  },
  idleTime: {
    ...seconds,
    flag: "idle-time",
    meaning: "how long a member may neither send nor be sent anything",
    answer: "closed"
  },
  backlogNotices: {
    ...bytes,
    flag: "max-notice-backlog",
    meaning: "bytes that wait for a member before notifications to it are put off",
    answer: "told later, and only what still matters; closed when that is more than 8192 notifications"
  },
  backlogBytes: {
    ...bytes,
    flag: "max-backlog",
    meaning: "bytes that wait for a member",
    answer: "closed; from half of it on new calls of an Agent are answered with 429"
  }
} satisfies { readonly [L in keyof Limits]: LimitRow }

type Settings = { readonly [L in keyof Limits]: number }

const openEnd = (number: number): number => (number === 0 ? Number.POSITIVE_INFINITY : number)

/** The limits that an operator has set. */
export const limitsOf = ({ idleTime, joinTime, ...counts }: Settings): Limits => ({
  ...Record.map(counts, openEnd),
  idleTime: Duration.seconds(openEnd(idleTime)),
  joinTime: Duration.seconds(openEnd(joinTime))
})

/** The other way round. */
const settingsOf = ({ idleTime, joinTime, ...counts }: Limits): Settings => {
  const number = (limit: number) => (limit === Number.POSITIVE_INFINITY ? 0 : limit)
  return {
    ...Record.map(counts, number),
    idleTime: number(Duration.toSeconds(idleTime)),
    joinTime: number(Duration.toSeconds(joinTime))
  }
}

const usual = settingsOf(Limits.defaultValue())

const variableOf = ({ flag }: LimitRow): string => `A2C_${flag.toUpperCase().replaceAll("-", "_")}`

const range = ({ least, most }: LimitRow): string =>
  least === 0 ? `a number up to ${most}, or 0 for no limit` : `a number from ${least} to ${most}`

const none = ({ least }: LimitRow): string => (least === 0 ? ", 0 for no limit" : "")

/** A flag for every limit. */
export const limitFlags = Record.map(rows, (row: LimitRow, name) =>
  Flag.Int(row.flag).pipe(
    Flag.withMetavar(row.metavar),
    Flag.withDescription(`${row.meaning}${none(row)} [env ${variableOf(row)}; default: ${usual[name]}]`),
    Flag.withFallbackConfig(Config.Int(variableOf(row))),
    Flag.withDefault(usual[name]),
    Flag.filter(
      (number) => number >= row.least && number <= row.most,
      () => range(row)
    )
  )
)

const line = (...cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

/** What docs/limits.md says about every limit. */
export const limitsTable: string = [
  line("limit", "flag", "variable", "default", "what happens beyond it"),
  line("---", "---", "---", "---", "---"),
  ...Record.toEntries<keyof Limits, LimitRow>(rows).map(([name, row]) =>
    line(
      row.meaning,
      `\`--${row.flag} ${row.metavar}\``,
      `\`${variableOf(row)}\``,
      usual[name] === 0 ? "0, none" : String(usual[name]),
      row.answer
    )
  )
].join("\n")
