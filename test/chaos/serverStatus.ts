import { Effect } from "effect"
import type { OfficeCount } from "../../src/application/server/observability/MemberCounts.ts"
import type { StatusReport } from "../../src/application/server/observability/Observability.ts"

/** What a Server says of itself, and how many sit in which office. */
export interface ServerStatus extends StatusReport {
  readonly officeList: ReadonlyArray<OfficeCount>
}

/** How long a Server may take to say how it is: one that does not is as good as mute. */
const statusTimeout = "2 seconds"

/** Asks the Server at this port of this machine how it is; fails with the reason when it does not say. */
export const statusOf = (port: number): Effect.Effect<ServerStatus, string> =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(`http://127.0.0.1:${port}/status?offices=1`, { signal })
      return (await response.json()) as ServerStatus
    },
    catch: (error) => `it cannot be asked: ${error instanceof Error ? error.message : String(error)}`
  }).pipe(
    Effect.timeoutOrElse({
      duration: statusTimeout,
      orElse: () => Effect.fail(`it does not say within ${statusTimeout} how it is`)
    })
  )
