import { Effect } from "effect"
import type { PackLogLine } from "../execution/PackRuntime.ts"

const logByLevel = {
  Debug: Effect.logDebug,
  Info: Effect.logInfo,
  Warn: Effect.logWarning,
  Error: Effect.logError
} as const

/** Writes log lines of a pack to the host's log, with the name of the pack. */
export const makePackLog = (name: string): Effect.Effect<(line: PackLogLine) => void> =>
  Effect.contextWith((context) =>
    Effect.succeed(({ fields, level, message }) =>
      Effect.runSyncWith(context)(logByLevel[level](message).pipe(Effect.annotateLogs({ ...fields, pack: name })))
    )
  )
