import { Effect } from "effect"
import type { PackLine } from "./runtime.ts"

const writers = {
  Debug: Effect.logDebug,
  Info: Effect.logInfo,
  Warn: Effect.logWarning,
  Error: Effect.logError
} as const

/** Writes what a pack logs to our log, under its name. */
export const makeLog = (name: string): Effect.Effect<(line: PackLine) => void> =>
  Effect.contextWith((context) =>
    Effect.succeed(({ fields, level, message }) =>
      Effect.runSyncWith(context)(
        writers[level](message).pipe(Effect.annotateLogs({ ...fields, pack: name }))
      )
    )
  )
