import { Cause, Logger } from "effect"
import type { Note } from "../Surface.ts"

const grave: ReadonlyArray<string> = ["Error", "Fatal"]

/** Notes errors in the log and drops the other messages. */
export const errorsTo = (note: Note) =>
  Logger.layer([
    Logger.make(({ cause, logLevel, message }) => {
      if (!grave.includes(logLevel)) return
      const reason = cause.reasons.length === 0 ? "" : `\n${Cause.pretty(cause)}`
      note(`logged as an error: ${JSON.stringify(message)}${reason}`)
    })
  ])
