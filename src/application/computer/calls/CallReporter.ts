import { Duration, Effect } from "effect"
import type { CallReport } from "../../../domain/model/CallStatus.ts"

/** A call that waits longer has its status reported: most calls are confirmed without a prompt. */
export const reportDelay = Duration.millis(200)

/** Tells the caller of a call its status. */
export interface CallReporter {
  /** Best effort. */
  readonly report: (report: CallReport) => Effect.Effect<void>
  /**
   * Announces that a call waits for an approval. True when the Server and the Agent wait on for that time, beyond the
   * timeout of the call.
   */
  readonly announceWait: (report: CallReport) => Effect.Effect<boolean>
}

/** Reports nothing. */
export const silentReporter: CallReporter = { report: () => Effect.void, announceWait: () => Effect.succeed(false) }
