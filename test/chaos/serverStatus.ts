import { Effect } from "effect"
import type { OfficeCount, StatusReport } from "../../src/application/server/observability/statusReport.ts"

/** Status of a Server, with the members of each office. */
export interface ServerStatus extends StatusReport {
  readonly officeList: ReadonlyArray<OfficeCount>
}

/** Timeout of a status request. */
const statusTimeout = "2 seconds"

/** Fetches the status of the Server on this local port. Fails with the reason. */
export const statusOf = (port: number): Effect.Effect<ServerStatus, string> =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(`http://127.0.0.1:${port}/status?offices=1`, { signal })
      return (await response.json()) as ServerStatus
    },
    catch: (error) => `status request failed: ${error instanceof Error ? error.message : String(error)}`
  }).pipe(
    Effect.timeoutOrElse({
      duration: statusTimeout,
      orElse: () => Effect.fail(`status request timed out after ${statusTimeout}`)
    })
  )
