import { Cause, Context, type Layer, Logger, References, Tracer } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import { redact, redactText } from "./redact.ts"

/** How a line of the log is written: for people, or as a JSON object for programs. */
export type LogFormat = "human" | "json"

/** The format of the log, looked at for every line. */
export const LogFormat = Context.Reference<LogFormat>("a2c-smcp/adapters/node/LogFormat", {
  defaultValue: () => "human"
})

/** JSON keeps some of them as they are; a terminal does what they say. */
const escapeControls = (json: string): string =>
  json.replaceAll(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`)

const formatValue = (value: unknown): string => {
  if (typeof value === "string" && /^[^\s="\p{Cc}]+$/u.test(value)) return value
  return escapeControls((JSON.stringify(value) as string | undefined) ?? String(value))
}

const formatPart = (part: unknown): string =>
  isJsonObject(part)
    ? Object.entries(part)
        .map(([key, value]) => `${key}=${formatValue(value)}`)
        .join(" ")
    : typeof part === "string"
      ? part
      : formatValue(part)

const formatTime = (date: Date): string => date.toISOString().slice(11, 23)

type LogEntry = Logger.Options<unknown>

const redactedParts = ({ message }: LogEntry): ReadonlyArray<unknown> =>
  (Array.isArray(message) ? message : [message]).map((part: unknown) => redact(part))

const formatCause = ({ cause }: LogEntry): string | undefined =>
  cause.reasons.length === 0 ? undefined : redactText(Cause.pretty(cause))

/** One fact, one line: time, level, words, and fields as `key=value`; a cause follows on lines of its own. */
const formatHuman = (line: LogEntry): string => {
  const { date, logLevel } = line
  const text = [
    formatTime(date),
    logLevel.toUpperCase().padEnd(5),
    ...redactedParts(line).map(formatPart)
  ].join(" ")
  const why = formatCause(line)
  return why === undefined ? text : `${text}\n${why}`
}

/** What JSON cannot hold, as text. */
const replaceUnserializable = (_name: string, value: unknown): unknown =>
  typeof value === "bigint" ? String(value) : value

/** The same as one JSON object: the words under `message`, the fields under `annotations`. */
const formatJson = (line: LogEntry): string => {
  const { date, fiber, logLevel } = line
  const parts = redactedParts(line)
  const annotations: ReadonlyArray<unknown> = [
    redact(fiber.getRef(References.CurrentLogAnnotations)),
    ...parts
  ]
  const span = Context.getOption(fiber.context, Tracer.ParentSpan)
  const text = JSON.stringify(
    {
      time: date.toISOString(),
      level: logLevel.toUpperCase(),
      message: parts.flatMap((part) => (isJsonObject(part) ? [] : [formatPart(part)])).join(" "),
      annotations: Object.assign({}, ...annotations.filter(isJsonObject)) as object,
      ...(span._tag === "Some" && { trace_id: span.value.traceId, span_id: span.value.spanId }),
      cause: formatCause(line)
    },
    replaceUnserializable
  )
  return escapeControls(text)
}

const makeLogger = (write: (lines: string) => void) =>
  Logger.make<unknown, void>((line) => {
    write(`${line.fiber.getRef(LogFormat) === "json" ? formatJson(line) : formatHuman(line)}\n`)
  })

/** Logs to wherever `write` puts it: whole lines, their ends included. */
export const layerTo = (write: (lines: string) => void): Layer.Layer<never> =>
  Logger.layer([makeLogger(write)])

/** Logs to stderr: stdout belongs to results. */
export const layer: Layer.Layer<never> = layerTo((lines) => void process.stderr.write(lines))
