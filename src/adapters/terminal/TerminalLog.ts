import { Cause, Context, type Layer, Logger, References, Tracer } from "effect"
import { isJsonObject, maxJsonDepth } from "../../domain/json.ts"

/** Format of a log line: text for people, or a JSON object for programs. */
export type LogFormat = "human" | "json"

/** The log format, read for each line. */
export const LogFormat = Context.Reference<LogFormat>("a2c-smcp/adapters/terminal/LogFormat", {
  defaultValue: () => "human"
})

const placeholder = "<redacted>"

/** Names of members with secret values, such as `apiKey`, `X-API-Key` and `mcp_token`. */
const secretNamePattern =
  /(authorization|token|secret|passwd|password|api[-_]?key|cookie|credentials?|private[-_]?key)$/i

const secretPatterns: ReadonlyArray<readonly [pattern: RegExp, replacement: string]> = [
  // The password of a URL: redis://user:password@host. It may contain an unescaped @.
  [/([a-z][a-z0-9+.-]*:\/\/[^\s:/?#@]*):[^\s/?#]+@/gi, `$1:${placeholder}@`],
  // A scheme without a value is documentation, not a secret.
  [/\b(authorization["']?\s*[:=]\s*["']?)(?!(?:basic|bearer)["']?$)(?:[a-z]+\s+)?[^\s"',;]+/gi, `$1${placeholder}`],
  [/\b(bearer\s+)(?=[^\s"',;]*[\d._-])[\w.~+/=-]{8,}/gi, `$1${placeholder}`],
  [/([?&](?:access_token|token|api_?key|key|secret|password|sig|signature)=)[^&\s"'#]+/gi, `$1${placeholder}`],
  // A JSON Web Token.
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, placeholder]
]

/** Replaces secrets that their context reveals. */
const redactText = (text: string): string =>
  secretPatterns.reduce((clean, [pattern, replacement]) => clean.replace(pattern, replacement), text)

/** Redacts members with secret names, and secrets in texts. The last line of defence: code must not log secrets. */
const redact = (value: unknown, depth = maxJsonDepth): unknown => {
  if (typeof value === "string") return redactText(value)
  if (value instanceof Error) return redactText(`${value.name}: ${value.message}`)
  if (depth === 0) return "…"
  if (Array.isArray(value)) return value.map((item: unknown) => redact(item, depth - 1))
  if (typeof value !== "object" || value === null) return value
  // Class instances may be cyclic, so only their class is logged.
  if (!isJsonObject(value)) return "toJSON" in value ? value : `[${value.constructor.name}]`
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      secretNamePattern.test(name) && (typeof member === "string" || typeof member === "object") && member !== null
        ? placeholder
        : redact(member, depth - 1)
    ])
  )
}

/** JSON leaves some control characters as they are, and a terminal would interpret them. */
const escapeControls = (json: string): string =>
  json.replaceAll(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, "0")}`)

const formatValue = (value: unknown): string => {
  if (typeof value === "string" && /^[^\s="\p{Cc}]+$/u.test(value)) return value
  return escapeControls((JSON.stringify(value) as string | undefined) ?? String(value))
}

const formatPart = (part: unknown): string => {
  if (typeof part === "string") return part
  if (!isJsonObject(part)) return formatValue(part)
  return Array.from(Object.entries(part), ([key, value]) => `${key}=${formatValue(value)}`).join(" ")
}

type LogEntry = Logger.Options<unknown>

const redactedParts = ({ message }: LogEntry): ReadonlyArray<unknown> =>
  (Array.isArray(message) ? message : [message]).map((part: unknown) => redact(part))

const formatCause = ({ cause }: LogEntry): string | undefined =>
  cause.reasons.length === 0 ? undefined : redactText(Cause.pretty(cause))

/** One line with time, level, message, and fields as `key=value`. A cause follows on separate lines. */
const formatHuman = (line: LogEntry): string => {
  const time = line.date.toISOString().slice(11, 23)
  const text = [time, line.logLevel.toUpperCase().padEnd(5), ...redactedParts(line).map(formatPart)].join(" ")
  const cause = formatCause(line)
  return cause === undefined ? text : `${text}\n${cause}`
}

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
      message: parts.flatMap((part) => (isJsonObject(part) ? [] : [formatPart(part)])).join(" "),
      annotations: Object.assign({}, ...annotations.filter(isJsonObject)) as object,
      ...(span._tag === "Some" && { trace_id: span.value.traceId, span_id: span.value.spanId }),
      cause: formatCause(line)
    },
    (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value)
  )
  return escapeControls(text)
}

/** Logs with `write`, which receives whole lines with their line breaks. */
export const layerTo = (write: (lines: string) => void): Layer.Layer<never> =>
  Logger.layer([
    Logger.make<unknown, void>((line) => {
      write(`${line.fiber.getRef(LogFormat) === "json" ? formatJson(line) : formatHuman(line)}\n`)
    })
  ])

/** Logs to stderr. Results go to stdout. */
export const layer: Layer.Layer<never> = layerTo((lines) => void process.stderr.write(lines))
