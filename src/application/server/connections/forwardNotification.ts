import { Clock, Effect } from "effect"
import type { Body } from "../../ports/Body.ts"
import { Limits } from "../Limits.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"
import type { Connection } from "./Connections.ts"

/**
 * Makes a function that sends an encoded notification to a client, best effort. An encoded one cannot be merged with
 * others, so a client that reads too slowly misses it.
 */
export const makeForwardNotification = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const { notificationBacklogBytes } = yield* Limits
  const metrics = yield* ServerMetrics
  return (connection: Connection, event: string, body: Body): void => {
    if (connection.closing) return
    connection.lastActivityAt = clock.currentTimeMillisUnsafe()
    if (connection.link.backlog() <= notificationBacklogBytes) connection.link.post(event, body)
    else metrics.dropped("notification")
  }
})
