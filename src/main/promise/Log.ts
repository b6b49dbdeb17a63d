import { Cause, Layer, Logger, References } from "effect"

/** One line of the log. */
export interface LogLine {
  readonly level: "Fatal" | "Error" | "Warn" | "Info" | "Debug" | "Trace"
  readonly date: Date
  /** What happened, and its particulars. */
  readonly message: ReadonlyArray<unknown>
  /** What went wrong, with its stack, where something did. */
  readonly cause: string | undefined
}

/** Takes the lines of a log. */
export type Log = (line: LogLine) => void

/** Sends the log to a function; without one, what is a warning or worse goes to stderr. */
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
