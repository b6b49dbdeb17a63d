/** A line of a log; its time is in milliseconds since the start of this process. */
export interface LogLine {
  readonly at: number
  readonly text: string
}

/** What one process logged during an outage. */
interface OutageLog {
  readonly part: string
  /** Its warnings. */
  readonly warnings: ReadonlyArray<string>
  /** A warning with this text must be among them. */
  readonly expected?: string | undefined
}

/** A time in which Redis or a proxy answered for others. */
export interface Outage {
  readonly kind: string
  readonly seconds: number
  /** Commands or connections of all parts meanwhile. */
  readonly requests: number
  readonly maxPerSecond: number
  readonly logs: ReadonlyArray<OutageLog>
  /** Members that ended, although they had joined. */
  readonly ended: ReadonlyArray<string>
}

/** A warning about an outage: its message, connection and reason, whose details vary. */
const subjectOf = (warning: string): string | undefined => {
  const message = /^(?:Redis connection lost|Redis rejects commands|join failed, retrying)/.exec(warning)?.[0]
  if (message === undefined) return undefined
  const field = (name: string) => new RegExp(` ${name}=("(?:[^"\\\\]|\\\\.)*"|\\S+)`).exec(warning)?.[1] ?? ""
  const reason = field("reason")
  // Redis repeats errors with other details; its connections fail in several ways, of which the first counts.
  const code = /(?:^"?|-)([A-Z]{3,}) /.exec(reason)?.[1] ?? "connection"
  return message.startsWith("Redis") ? `Redis, ${field("connection")}, ${code}` : `${message}, ${reason}`
}

const repeated = ({ part, warnings }: OutageLog): ReadonlyArray<string> =>
  [...Map.groupBy(warnings, subjectOf)].flatMap(([subject, those]) =>
    subject === undefined || those.length === 1
      ? []
      : [`${part} logged the same warning ${those.length} times: ${those[0]}`]
  )

const missing = ({ expected, part, warnings }: OutageLog): ReadonlyArray<string> =>
  expected === undefined || warnings.some((warning) => warning.includes(expected))
    ? []
    : [`${part} logged no warning with "${expected}"`]

/** Requests per second of an outage. */
export const rateOf = ({ requests, seconds }: Outage): number => requests / seconds

/** The violations during an outage. */
export const outageProblems = (outage: Outage): ReadonlyArray<string> => {
  const { ended, kind, logs, maxPerSecond } = outage
  const rate = rateOf(outage)
  return [
    ...(rate > maxPerSecond ? [`${rate.toFixed(0)} requests per second, at most ${maxPerSecond} are allowed`] : []),
    ...logs.flatMap(repeated),
    ...logs.flatMap(missing),
    ...ended.map((part) => `${part} ended, although it had joined`)
  ].map((problem) => `${kind}: ${problem}`)
}
