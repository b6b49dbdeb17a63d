import { Context, Effect, Layer, type Scope } from "effect"
import type { GaugeName } from "./metricNames.ts"

/** A number that is read when the metrics are scraped. */
export interface Gauge {
  readonly name: GaugeName
  /** Few values that are known in advance: nothing that a client chooses. */
  readonly labels?: { readonly [label: string]: string }
  /** Must be cheap and must not throw. */
  readonly read: () => number
}

/** The metrics of a Server. Every method may be called on the hot path. */
export class ServerMetrics extends Context.Service<
  ServerMetrics,
  {
    /** Counts a rejection or a closed connection by the name of its limit, such as `callsPerAgent`. */
    readonly limitExceeded: (limit: string) => void
    /** Counts something dropped because of a limit: `notification`, `message`. */
    readonly dropped: (kind: string) => void
    /** Counts a rejected connection by its protocol code. */
    readonly connectionRejected: (code: number) => void
    /** Registers a gauge as long as the scope. */
    readonly gauge: (gauge: Gauge) => Effect.Effect<void, never, Scope.Scope>
  }
>()("a2c-smcp/application/server/observability/ServerMetrics") {
  /** Counts nothing. */
  static readonly layerNone: Layer.Layer<ServerMetrics> = Layer.suspend(() => Layer.succeed(ServerMetrics, noMetrics))
}

/** The metrics of {@link ServerMetrics.layerNone}. */
export const noMetrics: ServerMetrics["Service"] = {
  limitExceeded: () => undefined,
  dropped: () => undefined,
  connectionRejected: () => undefined,
  gauge: () => Effect.void
}
