import { Clock, Console, Effect, FileSystem, Option, Schema } from "effect"
import { makeDecoder } from "../../../domain/validation.ts"
import { CommandFailed, failCommand } from "../CommandFailed.ts"
import { formatColumns, formatJson } from "../output.ts"

/** What the command line says about whose status is wanted, and how. */
export interface StatusCommandOptions {
  readonly url: string
  readonly tokenFile: Option.Option<string>
  readonly listOffices: boolean
  readonly json: boolean
  readonly watch: boolean
}

/** How long a Server may take to say how it is. */
const requestTimeout = "10 seconds"

/** How often a watched Server is asked. */
const watchInterval = "2 seconds"

/** What the process exits with when the Server is there and takes no members. */
const notReadyExitCode = 2

const Counts = Schema.Record(Schema.String, Schema.Finite)

/** What we show of a report; what newer Servers say beside it is passed over. */
const StatusReport = Schema.Struct({
  version: Schema.String,
  protocol: Schema.String,
  state: Schema.String,
  reason: Schema.optionalKey(Schema.String),
  components: Schema.Record(Schema.String, Schema.Struct({ error: Schema.optionalKey(Schema.String) })),
  uptimeSeconds: Schema.Finite,
  members: Schema.Struct({ agents: Schema.Finite, computers: Schema.Finite }),
  offices: Schema.Finite,
  recent: Schema.Struct({
    perSecond: Schema.Finite,
    latency: Schema.optionalKey(Schema.Struct({ p50: Schema.Finite, p90: Schema.Finite, p99: Schema.Finite }))
  }),
  totals: Schema.Struct({
    calls: Schema.Finite,
    outcomes: Counts,
    limitRejections: Counts,
    dropped: Counts,
    rejectedConnections: Counts
  }),
  gauges: Counts,
  officeList: Schema.optionalKey(
    Schema.Array(Schema.Struct({ office: Schema.String, agents: Schema.Finite, computers: Schema.Finite }))
  )
})
type StatusReport = typeof StatusReport.Type

const decodeStatusReport = makeDecoder(StatusReport)

/** The URL of the page; a path of the Server's own is one of Socket.IO, and the pages stand at the root. */
const statusPageUrl = ({ listOffices, url }: StatusCommandOptions): Effect.Effect<URL, CommandFailed> => {
  const base = URL.parse(url)
  if (base !== null && `${base.username}${base.password}` !== "") {
    return failCommand("The URL of a Server holds no user and no password: give a token by --token-file")
  }
  if (base === null || !/^https?:$/.test(base.protocol)) {
    return failCommand(
      `${JSON.stringify(url)} is no URL of a Server: expected one like http://127.0.0.1:7070`
    )
  }
  const page = new URL("/status", base)
  if (listOffices) page.searchParams.set("offices", "1")
  return Effect.succeed(page)
}

const readTokenFile = Effect.fnUntraced(function* (file: string) {
  const { readFileString } = yield* FileSystem.FileSystem
  const text = yield* Effect.catch(readFileString(file), ({ message, reason }) =>
    failCommand(
      `The token cannot be read: ${reason._tag === "NotFound" ? `there is no file ${file}` : message}`
    )
  )
  const token = text.trim()
  return /^[\x21-\x7e]+$/.test(token)
    ? token
    : yield* failCommand(`${file} must hold a token and nothing else: one word of printable ASCII`)
})

/** Why the network did not give an answer; fetch hides it in the cause. */
const networkErrorMessage = (error: unknown): string => {
  const { cause, message } = error instanceof Error ? error : new Error(String(error))
  return cause instanceof Error ? cause.message || String("code" in cause ? cause.code : message) : message
}

/** What an answer other than a report means. */
const httpErrorHints: { readonly [status: number]: string } = {
  401: "it asks for the token of an operator: give --token-file",
  403: "this token, or this way of addressing it, does not permit to see its status",
  404: "it has no page /status: is it an A2C Server of this version?"
}

const fetchStatus = Effect.fnUntraced(function* (page: URL, token: string | undefined) {
  const where = page.origin
  const { status, text } = yield* Effect.tryPromise({
    try: async (signal) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      // A token must not follow a redirection to somewhere else.
      const response = await fetch(page, { headers, signal, redirect: "error" })
      return { status: response.status, text: await response.text() }
    },
    catch: (error) =>
      new CommandFailed({
        message: `The Server at ${where} cannot be reached: ${networkErrorMessage(error)}`
      })
  }).pipe(
    Effect.timeoutOrElse({
      duration: requestTimeout,
      orElse: () => failCommand(`The Server at ${where} does not answer within ${requestTimeout}`)
    })
  )
  if (status !== 200) {
    return yield* failCommand(
      `The Server at ${where} does not say how it is: ${httpErrorHints[status] ?? text.trim()}`
    )
  }
  const raw = yield* Effect.try({ try: (): unknown => JSON.parse(text), catch: () => undefined }).pipe(
    Effect.catch(() => failCommand(`What answers at ${where} is no A2C Server: its /status is not JSON`))
  )
  const report = yield* Effect.catch(Effect.fromResult(decodeStatusReport(raw)), (reason) =>
    failCommand(`The status of the Server at ${where} cannot be read: ${reason}`)
  )
  return { raw, report }
})

const formatState = ({ reason, state }: StatusReport): string =>
  reason === undefined ? state : `${state}: ${reason}`

const failingComponents = ({ components }: StatusReport): ReadonlyArray<string> =>
  Object.entries(components).flatMap(([component, { error }]) =>
    error === undefined ? [] : [`${component}: ${error}`]
  )

const formatCounts = (counts: { readonly [name: string]: number }): string => {
  const list = Object.entries(counts).filter(([, count]) => count > 0)
  return list.length === 0 ? "none" : list.map(([name, count]) => `${name} ${count}`).join(", ")
}

const formatMillis = (millis: number): string =>
  millis < 1000 ? `${Number(millis.toPrecision(2))} ms` : `${Number((millis / 1000).toPrecision(2))} s`

const formatUptime = (seconds: number): string => {
  const [days, hours, minutes] = [seconds / 86_400, (seconds / 3600) % 24, (seconds / 60) % 60].map(
    Math.floor
  )
  return `${days} d ${hours} h ${minutes} min ${Math.floor(seconds % 60)} s`.replace(/^(0 [dhmin]+ )+/, "")
}

const formatLatency = ({ recent: { latency } }: StatusReport): string =>
  latency === undefined
    ? "no calls in the last minute"
    : `p50 ${formatMillis(latency.p50)}, p90 ${formatMillis(latency.p90)}, p99 ${formatMillis(latency.p99)}`

const formatSummary = (report: StatusReport): string => {
  const { gauges, members, offices, officeList, recent, totals } = report
  const rows = [
    ["state", formatState(report)],
    ...failingComponents(report).map((error) => ["not working", error]),
    ["version", `${report.version}, protocol ${report.protocol}`],
    ["running for", formatUptime(report.uptimeSeconds)],
    ["offices", String(offices)],
    ["members", `${members.agents} agents, ${members.computers} computers`],
    ["connections", String(gauges["connections"] ?? "unknown")],
    ["calls", `${totals.calls} so far, ${recent.perSecond.toFixed(1)} a second`],
    ["under way", String(gauges["calls_in_flight"] ?? "unknown")],
    ["outcomes", formatCounts(totals.outcomes)],
    ["latency", formatLatency(report)],
    ["limits hit", formatCounts(totals.limitRejections)],
    ["dropped", formatCounts(totals.dropped)],
    ["turned away", formatCounts(totals.rejectedConnections)]
  ]
  const list = (officeList ?? []).map(({ agents, computers, office }) => [
    office,
    `${agents} agents`,
    `${computers} computers`
  ])
  return list.length === 0 ? formatColumns(rows) : `${formatColumns(rows)}\n\n${formatColumns(list)}`
}

const formatLine = (now: number, report: StatusReport): string => {
  const { gauges, members, offices, recent, totals } = report
  const limitRejections = Object.values(totals.limitRejections).reduce((sum, count) => sum + count, 0)
  const columns = [
    new Date(now).toISOString().slice(11, 19),
    formatState(report),
    ...failingComponents(report).map((error) => `(not working: ${error})`),
    `${offices} offices`,
    `${members.agents}+${members.computers} members`,
    `${recent.perSecond.toFixed(1)} calls/s`,
    formatLatency(report),
    `${gauges["calls_in_flight"] ?? "?"} under way`,
    `${limitRejections} limits hit`
  ]
  return columns.join("  ")
}

/** Shows the status of a Server once, or again and again; a watched one may go away and come back. */
export const showStatus = Effect.fnUntraced(function* (options: StatusCommandOptions) {
  const { json, tokenFile, watch } = options
  const page = yield* statusPageUrl(options)
  const token = Option.isSome(tokenFile) ? yield* readTokenFile(tokenFile.value) : undefined
  const fetching = fetchStatus(page, token)
  if (watch) {
    const step = fetching.pipe(
      Effect.flatMap(({ raw, report }) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Console.log(json ? JSON.stringify(raw) : formatLine(now, report))
        )
      ),
      Effect.catchTag("CommandFailed", ({ message }) => Console.error(`a2c: ${message}`))
    )
    return yield* Effect.forever(Effect.andThen(step, Effect.sleep(watchInterval)))
  }
  const { raw, report } = yield* fetching
  yield* Console.log(json ? formatJson(raw) : formatSummary(report))
  if (report.state !== "ready") {
    return yield* new CommandFailed({
      message: `The Server takes no members: ${formatState(report)}`,
      exitCode: notReadyExitCode
    })
  }
})
