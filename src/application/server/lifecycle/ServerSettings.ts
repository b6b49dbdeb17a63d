import { Context, Duration } from "effect"

/** What an operator may set about a Server. */
export interface ServerSettings {
  /** How long a Computer may take to answer a request that names no time of its own. */
  readonly routingTimeout: Duration.Duration
  /** What is added to the time a request names: the way there and back. */
  readonly timeoutGrace: Duration.Duration
  /** How long calls under way may take to end when the Server goes down; zero cuts them off. */
  readonly drainTimeout: Duration.Duration
  /** Refuse connections that do not state their role (spec §15, row 35). */
  readonly requireRole: boolean
}

/** The settings of a Server; the defaults are those of spec §4.3. */
export const ServerSettings = Context.Reference<ServerSettings>(
  "a2c-smcp/application/server/ServerSettings",
  {
    defaultValue: () => ({
      routingTimeout: Duration.seconds(30),
      timeoutGrace: Duration.seconds(5),
      drainTimeout: Duration.zero,
      requireRole: false
    })
  }
)
