import { Cause, Layer, Logger, References } from "effect"

/** A line of the log. */
export interface LogLine {
  readonly level: "Fatal" | "Error" | "Warn" | "Info" | "Debug" | "Trace"
  readonly date: Date
  /** The phrase of the event, and its fields. */
  readonly message: ReadonlyArray<unknown>
  /** The cause of an error, with its stack. */
  readonly cause: string | undefined
}

/** Receives the lines of the log. */
export type Log = (line: LogLine) => void

/** Sends the log to a function; without one, warnings and errors go to stderr. */
export const logLayer = (log: Log | undefined): Layer.Layer<never> =>
  log === undefined
    ? Layer.merge(Layer.succeed(Logger.LogToStderr, true), Layer.succeed(References.MinimumLogLevel, "Warn"))
    : Logger.layer([
        Logger.make<unknown, void>(({ cause, date, logLevel, message }) => {
          if (logLevel === "All" || logLevel === "None") return
          log({
            level: logLevel,
            date,
            message: Array.isArray(message) ? message : [message],
            cause: cause.reasons.length === 0 ? undefined : Cause.pretty(cause)
          })
        })
      ])
