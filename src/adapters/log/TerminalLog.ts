import { Context, Effect, Layer, Logger, References, Tracer } from "effect"
import { isJsonObject } from "../../domain/json.ts"
import { escapeForTerminal } from "../../domain/text/escapeForTerminal.ts"
import { makePaint } from "./colours.ts"
import {
  formatCause,
  formatHuman,
  formatPart,
  layer as consoleLayer,
  type LogEntry,
  redactedParts
} from "./ConsoleLog.ts"
import { redact } from "./redact.ts"
import { statusLine } from "./statusLine.ts"

/** Format of a log line: text for people, or a JSON object for programs. */
export type LogFormat = "human" | "json"

/** The log format, read for each line. */
export const LogFormat = Context.Reference<LogFormat>("a2c-smcp/adapters/terminal/LogFormat", {
  defaultValue: () => "human"
})

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

/**
 * Logs to stderr, without one to the console; results go to stdout. Lines below the level of warnings may wait 20 ms, if
 * stderr is no terminal: that shows them between the lines of stdout.
 */
export const layer: Layer.Layer<never> = Layer.unwrap(
  Effect.suspend(() => {
    const stderr = globalThis.process?.stderr
    if (stderr === undefined) return Effect.succeed(consoleLayer)
    const write = (lines: string) => {
      statusLine.clear()
      // oxlint-disable-next-line no-console -- where tests and hosts look for it
      console.error(lines.slice(0, -1))
    }
    if (stderr.isTTY) return Effect.succeed(layerTo(write))
    const collector = Effect.acquireRelease(
      Effect.sync(() => collectLines(write)),
      ({ close }) => Effect.sync(close)
    )
    return Effect.map(collector, ({ add }) => layerTo(add))
  })
)
