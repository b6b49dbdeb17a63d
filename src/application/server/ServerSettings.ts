import { Context, Duration } from "effect"

export interface ServerSettings {
  /** Timeout of requests that set no timeout. */
  readonly routingTimeout: Duration.Duration
  /** Added to the timeout that a request sets, for transit in both directions. */
  readonly timeoutGrace: Duration.Duration
  /** Time limit of calls in flight during a graceful shutdown; zero aborts them. */
  readonly drainTimeout: Duration.Duration
  /** Reject connections without a role in the handshake (spec §15, row 35), on lines that have it there. */
  readonly requireRole: boolean
}

/** The settings of a Server; the default timeouts are those of spec §4.3. */
export const ServerSettings = Context.Reference<ServerSettings>(
  "a2c-smcp/application/server/lifecycle/ServerSettings",
  {
    defaultValue: () => ({
      routingTimeout: Duration.seconds(30),
      timeoutGrace: Duration.seconds(5),
      drainTimeout: Duration.zero,
      requireRole: false
    })
  }
)
