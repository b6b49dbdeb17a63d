import { Cause, type Layer, Logger } from "effect"
import { isJsonObject } from "../../domain/json.ts"

const spell = (value: unknown): string => {
  if (typeof value === "string") return /^[^\s="]+$/.test(value) ? value : JSON.stringify(value)
  if (value instanceof Error) return JSON.stringify(`${value.name}: ${value.message}`)
  return (JSON.stringify(value) as string | undefined) ?? String(value)
}

const fields = (part: unknown): string =>
  isJsonObject(part)
    ? Object.entries(part)
        .map(([key, value]) => `${key}=${spell(value)}`)
        .join(" ")
    : typeof part === "string"
      ? part
      : spell(part)

const clock = (date: Date): string => date.toISOString().slice(11, 23)

/** One fact, one line: time, level, words, and fields as `key=value`; a cause follows on lines of its own. */
const logger = (write: (lines: string) => void) =>
  Logger.make<unknown, void>(({ cause, date, logLevel, message }) => {
    const parts = Array.isArray(message) ? message : [message]
    const line = [clock(date), logLevel.toUpperCase().padEnd(5), ...parts.map(fields)].join(" ")
    const why = cause.reasons.length === 0 ? "" : `\n${Cause.pretty(cause)}`
    write(`${line}${why}\n`)
  })

/** Logs for people to wherever `write` puts it: whole lines, their ends included. */
export const layerTo = (write: (lines: string) => void): Layer.Layer<never> => Logger.layer([logger(write)])

/** Logs to stderr, for people: stdout belongs to results. */
export const layer: Layer.Layer<never> = layerTo((lines) => void process.stderr.write(lines))
