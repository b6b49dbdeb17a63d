import { Cause, Context, Effect, Layer, Logger, References, Tracer } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import { escapeForTerminal, escapeLinesForTerminal } from "../../domain/text/escapeForTerminal.ts"
import { type Colour, makePaint } from "./colours.ts"
import { redact, redactText } from "./redact.ts"
import { statusLine } from "./statusLine.ts"

/** Format of a log line: text for people, or a JSON object for programs. */
export type LogFormat = "human" | "json"

/** The log format, read for each line. */
export const LogFormat = Context.Reference<LogFormat>("a2c-smcp/adapters/terminal/LogFormat", {
  defaultValue: () => "human"
})

const formatValue = (value: unknown): string => {
  if (typeof value === "string" && /^[^\s="\\]+$/u.test(value) && escapeForTerminal(value) === value) return value
  return escapeForTerminal((JSON.stringify(value) as string | undefined) ?? String(value))
}

const formatPart = (part: unknown): string => {
  if (typeof part === "string") return escapeForTerminal(part)
  if (!isJsonObject(part)) return formatValue(part)
  return Array.from(Object.entries(part), ([key, value]) => `${formatValue(key)}=${formatValue(value)}`).join(" ")
}

type LogEntry = Logger.Options<unknown>

const redactedParts = ({ message }: LogEntry): ReadonlyArray<unknown> =>
  (Array.isArray(message) ? message : [message]).map((part: unknown) => redact(part))

const formatCause = ({ cause }: LogEntry): string | undefined =>
  cause.reasons.length === 0 ? undefined : redactText(Cause.pretty(cause))

const levelColours: { readonly [level: string]: Colour } = {
  Fatal: "red",
  Error: "red",
  Warn: "yellow",
  Info: "cyan",
  Debug: "dim",
  Trace: "dim"
}

/** One line with time, level, message, and fields as `key=value`. A cause follows on separate lines, indented. */
const formatHuman = (line: LogEntry, paint: ReturnType<typeof makePaint>): string => {
  const time = paint("dim", line.date.toISOString().slice(11, 23))
  const level = paint(levelColours[line.logLevel] ?? "bold", line.logLevel.toUpperCase().padEnd(5))
  const text = [time, level, ...redactedParts(line).map(formatPart)].join(" ")
  const cause = formatCause(line)
  // A message in the cause cannot look like a line of the log.
  return cause === undefined ? text : `${text}\n${escapeLinesForTerminal(cause).replaceAll(/^/gm, "  ")}`
}

const formatText = (part: unknown): string => (typeof part === "string" ? part : formatPart(part))

/** One JSON object: the text is `message`, the fields are `annotations`. */
const formatJson = (line: LogEntry): string => {
  const { date, fiber, logLevel } = line
  const parts = redactedParts(line)
  const annotations: ReadonlyArray<unknown> = [redact(fiber.getRef(References.CurrentLogAnnotations)), ...parts]
  const span = Context.getOption(fiber.context, Tracer.ParentSpan)
  const text = JSON.stringify(
    {
      time: date.toISOString(),
      level: logLevel.toUpperCase(),
      message: parts.flatMap((part) => (isJsonObject(part) ? [] : [formatText(part)])).join(" "),
      annotations: Object.assign({}, ...annotations.filter(isJsonObject)) as object,
      ...(span._tag === "Some" && { trace_id: span.value.traceId, span_id: span.value.spanId }),
      cause: formatCause(line)
    },
    (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value)
  )
  return escapeForTerminal(text)
}

/** Levels of frequent lines, which may wait for others. */
const bufferedLevels: ReadonlyArray<string> = ["Trace", "Debug", "Info"]

/** Logs with `write`, which receives whole lines with their line breaks; `isUrgent` is true for warnings and errors. */
export const layerTo = (write: (lines: string, isUrgent: boolean) => void): Layer.Layer<never> => {
  const paint = makePaint(globalThis.process?.stderr)
  return Logger.layer([
    Logger.make<unknown, void>((line) => {
      const text = line.fiber.getRef(LogFormat) === "json" ? formatJson(line) : formatHuman(line, paint)
      write(`${text}\n`, !bufferedLevels.includes(line.logLevel))
    })
  ])
}

/** Milliseconds that a line waits for others, and the characters of waiting lines. */
const maxDelay = 20
const maxWaiting = 16 * 1024

/** Writes several lines at once, since a write costs more than a line. The end of the process writes the rest. */
const collectLines = (write: (lines: string) => void) => {
  let waiting = ""
  let timer: NodeJS.Timeout | undefined
  let isOpen = true
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const lines = waiting
    waiting = ""
    if (lines !== "") write(lines)
  }
  process.on("exit", flush)
  const add = (lines: string, isUrgent: boolean) => {
    waiting += lines
    if (isUrgent || !isOpen || waiting.length > maxWaiting) flush()
    else timer ??= setTimeout(flush, maxDelay).unref()
  }
  /** Later lines do not wait. */
  const close = () => {
    isOpen = false
    process.off("exit", flush)
    flush()
  }
  return { add, close }
}

/** True where lines may wait: a terminal shows them between the lines of stdout. */
const isCollectingUseful = (): boolean =>
  globalThis.process?.stderr !== undefined && globalThis.process.stderr.isTTY !== true

/**
 * Logs to stderr, or to the console of a browser; results go to stdout. Lines below the level of warnings may wait 20 ms, if
 * stderr is no terminal.
 */
export const layer: Layer.Layer<never> = Layer.unwrap(
  Effect.suspend(() => {
    const write = (lines: string) => {
      statusLine.clear()
      // oxlint-disable-next-line no-console -- the only output that browsers also have
      console.error(lines.slice(0, -1))
    }
    if (!isCollectingUseful()) return Effect.succeed(layerTo(write))
    const collector = Effect.acquireRelease(
      Effect.sync(() => collectLines(write)),
      ({ close }) => Effect.sync(close)
    )
    return Effect.map(collector, ({ add }) => layerTo(add))
  })
)
