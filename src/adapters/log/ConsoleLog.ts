import { Cause, type Layer, Logger } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import { escapeForTerminal, escapeLinesForTerminal } from "../../domain/text/escapeForTerminal.ts"
import type { Colour, makePaint } from "./colours.ts"
import { redact, redactText } from "./redact.ts"

const formatValue = (value: unknown): string => {
  if (typeof value === "string" && /^[^\s="\\]+$/u.test(value) && escapeForTerminal(value) === value) return value
  return escapeForTerminal((JSON.stringify(value) as string | undefined) ?? String(value))
}

export const formatPart = (part: unknown): string => {
  if (typeof part === "string") return escapeForTerminal(part)
  if (!isJsonObject(part)) return formatValue(part)
  return Array.from(Object.entries(part), ([key, value]) => `${formatValue(key)}=${formatValue(value)}`).join(" ")
}

export type LogEntry = Logger.Options<unknown>

export const redactedParts = ({ message }: LogEntry): ReadonlyArray<unknown> =>
  (Array.isArray(message) ? message : [message]).map((part: unknown) => redact(part))

export const formatCause = ({ cause }: LogEntry): string | undefined =>
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
export const formatHuman = (line: LogEntry, paint: ReturnType<typeof makePaint>): string => {
  const time = paint("dim", line.date.toISOString().slice(11, 23))
  const level = paint(levelColours[line.logLevel] ?? "bold", line.logLevel.toUpperCase().padEnd(5))
  const text = [time, level, ...redactedParts(line).map(formatPart)].join(" ")
  const cause = formatCause(line)
  // A message in the cause cannot look like a line of the log.
  return cause === undefined ? text : `${text}\n${escapeLinesForTerminal(cause).replaceAll(/^/gm, "  ")}`
}

/** Logs to the console. Bundles for browsers have this file instead of `TerminalLog.ts`: see `browser` in package.json. */
export const layer: Layer.Layer<never> = Logger.layer([
  Logger.make<unknown, void>((line) => {
    // oxlint-disable-next-line no-console -- the only output of a browser
    console.error(formatHuman(line, (_colour, text) => text))
  })
])
