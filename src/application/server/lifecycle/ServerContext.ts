import { Clock, Context, Duration, Effect } from "effect"
import { Authenticator } from "../../ports/Authenticator.ts"
import { NodeLink } from "../../ports/NodeLink.ts"
import { OfficeRegistry } from "../../ports/OfficeRegistry.ts"
import { ServedLines } from "../../ports/ServedLines.ts"
import { Limits } from "../connections/Limits.ts"
import { CallObservers, CallStatusObservers, MembershipObservers, UpdateObservers } from "../observability/observers.ts"
import { ServerMetrics } from "../observability/ServerMetrics.ts"
import { Readiness } from "./Readiness.ts"

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

/** The services and settings of one Server, which the constructors of its parts take. */
export const makeServerContext = Effect.gen(function* () {
  return {
    servedLines: yield* ServedLines,
    registry: yield* OfficeRegistry,
    nodeLink: yield* NodeLink,
    authenticator: yield* Authenticator,
    metrics: yield* ServerMetrics,
    readiness: yield* Readiness,
    limits: yield* Limits,
    settings: yield* ServerSettings,
    callObservers: yield* CallObservers,
    callStatusObservers: yield* CallStatusObservers,
    membershipObservers: yield* MembershipObservers,
    updateObservers: yield* UpdateObservers,
    clock: yield* Clock.Clock
  }
})

export type ServerContext = Effect.Success<typeof makeServerContext>
