import { Clock, Effect, Result, Stream } from "effect"
import { readTokenFile } from "../../../adapters/credentials/readTokenFile.ts"
import { ReportedStatus } from "../../../application/server/observability/statusReport.ts"
import { parseJson } from "../../../domain/json.ts"
import { formatBytes, formatDuration, formatNumberOf, formatQuantity } from "../../../domain/text/format.ts"
import { makeDecoder } from "../../../domain/validation.ts"
import { CommandFailed, failCommand, requireSuccess } from "../../CommandFailed.ts"
import { type Cell, formatColumns, formatFields, truncateLine } from "../output/format.ts"
import { showLive } from "../output/liveText.ts"
import { tableTerminal } from "../output/screen.ts"
import { printJson, printLine, printTable, reportFailure } from "../output/print.ts"
import type { HealthCommandOptions, StatusCommandOptions } from "./flags.ts"
import type { PlainResponse } from "../../../adapters/socketio/client/browserAgent.ts"
import { makePageRequest, serverPageUrl } from "./serverPage.ts"

/** Characters of a reply that are shown. */
const maxShown = 200

const readToken = Effect.fnUntraced(function* (file: string) {
  const token = yield* readTokenFile(file)
  return /^[\x21-\x7e]+$/.test(token)
    ? token
    : yield* failCommand(`${file} must hold a token and nothing else: one word of printable ASCII`)
})

const httpErrorHints: { readonly [status: number]: string } = {
  300: "it redirects to another URL: use that one",
  401: "the token of an operator is required: give --token-file",
  403: "the token, or the address in the URL, does not permit access",
  404: "it has no page /status: is it an A2C Server of this version?"
}

const statusOf = Effect.fnUntraced(function* (where: string, { status, text }: PlainResponse) {
  if (status !== 200) {
    return yield* failCommand(
      `The status request to ${where} failed: ${httpErrorHints[status] ?? truncateLine(text, maxShown)}`
    )
  }
  const raw = parseJson(text)
  if (raw === undefined) {
    return yield* failCommand(`The response of ${where} is not from an A2C Server: /status is not JSON`)
  }
  const report = yield* requireSuccess(
    makeDecoder(ReportedStatus)(raw),
    (reason) => `The status of the Server at ${where} cannot be read: ${reason}`
  )
  return { raw, report }
})

const formatState = ({ reason, state }: ReportedStatus) => (reason === undefined ? state : `${state}: ${reason}`)

const failingComponents = ({ components }: ReportedStatus): ReadonlyArray<string> =>
  Object.entries(components).flatMap(([component, { error }]) =>
    error === undefined ? [] : [`${component}: ${error}`]
  )

const formatCounts = (counts: { readonly [name: string]: number }): string => {
  const list = Object.entries(counts).filter(([, count]) => count > 0)
  return list.length === 0 ? "none" : list.map(([name, count]) => `${name} ${count}`).join(", ")
}

const formatLatency = ({ recent: { latency } }: ReportedStatus): string =>
  latency === undefined
    ? "no calls in the last minute"
    : `p50 ${formatDuration(latency.p50)}, p90 ${formatDuration(latency.p90)}, p99 ${formatDuration(latency.p99)}`

/** What members occupy, and its limits where the Server has any. */
const memoryRows = [
  ["unread", "backlog_bytes", "total_backlog_bytes"],
  ["incomplete", "incomplete_bytes", "total_incomplete_bytes"],
  ["requests", "request_bytes", "total_request_bytes"]
] as const

const formatMemory = (gauges: ReportedStatus["gauges"]): string =>
  memoryRows
    .map(([what, used, limit]) => {
      const max = gauges[`memory_limit_bytes{limit=${limit}}`]
      const bytes = formatBytes(gauges[used] ?? 0)
      return max === undefined ? `${what} ${bytes}` : `${what} ${bytes} of ${formatBytes(max)}`
    })
    .join(", ")

const formatSummary = (report: ReportedStatus): string => {
  const { gauges, members, offices, officeList, recent, totals } = report
  const rows: ReadonlyArray<ReadonlyArray<Cell>> = [
    ["state", { text: formatState(report), colour: report.state === "ready" ? "green" : "red" }],
    ...failingComponents(report).map((error) => ["component failed", { text: error, colour: "red" } satisfies Cell]),
    ["version", `${report.version}, protocol ${report.lines.join(", ")}`],
    ["uptime", formatDuration(report.uptimeSeconds * 1000)],
    ["offices", String(offices)],
    ["members", `${formatNumberOf(members.agents, "Agent")}, ${formatNumberOf(members.computers, "Computer")}`],
    ["connections", String(gauges["connections"] ?? "unknown")],
    ["calls", `${totals.calls} so far, ${recent.perSecond.toFixed(1)} a second`],
    ["in flight", String(gauges["calls_in_flight"] ?? "unknown")],
    ["memory of members", formatMemory(gauges)],
    ["outcomes", formatCounts(totals.outcomes)],
    ["call time with waits", formatLatency(report)],
    ["rejected", formatCounts(totals.limitRejections)],
    ["dropped", formatCounts(totals.dropped)],
    ["rejected connections", formatCounts(totals.rejectedConnections)]
  ]
  const list = officeList?.map(({ agents, computers, line, office, otherLines }) => [
    office,
    line,
    formatNumberOf(agents, "Agent"),
    formatNumberOf(computers, "Computer"),
    ...(otherLines === undefined ? [] : [`also in use on ${otherLines.join(", ")}`])
  ])
  return [formatFields(rows), formatColumns(list ?? [])].filter(Boolean).join("\n\n")
}

const formatLine = (now: number, report: ReportedStatus): string => {
  const { gauges, members, offices, recent, totals } = report
  const limitRejections = Object.values(totals.limitRejections).reduce((sum, count) => sum + count, 0)
  const columns = [
    new Date(now).toISOString().slice(11, 19),
    formatState(report),
    ...failingComponents(report).map((error) => `(component failed: ${error})`),
    formatQuantity(offices, "office"),
    `${members.agents}+${members.computers} members`,
    `${recent.perSecond.toFixed(1)} calls/s`,
    formatLatency(report),
    `${gauges["calls_in_flight"] ?? "?"} in flight`,
    `${limitRejections} rejected`
  ]
  return columns.join("  ")
}

const watchInterval = "2 seconds"

/** Shows the status every two seconds: a terminal redraws the report, elsewhere each has its line. A failure does not end it. */
const watchStatus = ({ json, listOffices }: StatusCommandOptions, fetching: ReturnType<typeof statusOf>) => {
  if (!json && (listOffices || tableTerminal() !== undefined)) {
    const outcomes = Stream.mapEffect(Stream.tick(watchInterval), () => Effect.result(fetching))
    const format = Result.match({
      onSuccess: ({ report }: Effect.Success<typeof fetching>) => formatSummary(report),
      onFailure: ({ message }: CommandFailed) => formatColumns([[{ text: message, colour: "red" }]])
    })
    return showLive(Stream.map(outcomes, (outcome) => () => format(outcome)))
  }
  const step = Effect.gen(function* () {
    const { raw, report } = yield* fetching
    yield* json ? printJson(raw, true) : printLine(formatLine(yield* Clock.currentTimeMillis, report))
  }).pipe(Effect.catchTag("CommandFailed", (failure) => reportFailure(failure, json)))
  return Effect.forever(Effect.andThen(step, Effect.sleep(watchInterval)))
}

/** Shows the status of a Server once, or repeatedly; with `--watch` a failed request does not end the command. */
export const showStatus = Effect.fnUntraced(function* (options: StatusCommandOptions) {
  const { json, listOffices, server, tlsCa, tokenFile, url = server, watch } = options
  const page = yield* serverPageUrl(url, "/status")
  if (listOffices) page.searchParams.set("offices", "1")
  const token = tokenFile === undefined ? undefined : yield* readToken(tokenFile)
  const fetching = Effect.flatMap(yield* makePageRequest(page, { token, tlsCa }), (response) =>
    statusOf(page.origin, response)
  )
  if (watch) return yield* watchStatus(options, fetching)
  const { raw, report } = yield* fetching
  yield* json ? printJson(raw) : printTable(formatSummary(report))
  if (report.state !== "ready") {
    return yield* new CommandFailed({ message: `The Server is not ready: ${formatState(report)}`, exitCode: 2 })
  }
})

/** Shows whether a Server accepts members, without credentials. */
export const checkHealth = Effect.fnUntraced(function* ({ server, tlsCa, url = server }: HealthCommandOptions) {
  const page = yield* serverPageUrl(url, "/readyz")
  const { status, text } = yield* yield* makePageRequest(page, { tlsCa })
  const reply = truncateLine(text.trim(), maxShown)
  if (status === 200) return yield* printLine(reply)
  return yield* status === 503
    ? new CommandFailed({ message: `The Server is not ready: ${reply}`, exitCode: 2 })
    : new CommandFailed({ message: `The response of ${page.origin} is not from an A2C Server: status ${status}` })
})
