import { Effect } from "effect"
import type { Body } from "../../ports/Body.ts"
import type { ServerContext } from "../lifecycle/ServerContext.ts"
import type { Connection } from "./Connections.ts"

/**
 * Makes a function that sends an encoded notification to a client, best effort. An encoded one cannot be merged with
 * others, so a client that reads too slowly misses it.
 */
export const makeForwardNotification =
  ({ clock, limits: { notificationBacklogBytes }, metrics }: Pick<ServerContext, "clock" | "limits" | "metrics">) =>
  (connection: Connection, event: string, body: Body): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (connection.closing) return Effect.void
      connection.lastActivityAt = clock.currentTimeMillisUnsafe()
      if (connection.link.backlog() <= notificationBacklogBytes)
        return Effect.ignore(connection.link.notify(event, body))
      metrics.dropped("notification")
      return Effect.void
    })
