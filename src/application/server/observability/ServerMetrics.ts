import { Context, Effect, type Scope } from "effect"

/** A number that is looked up when somebody wants to see it. */
export interface Gauge {
  /** In the words of Prometheus, without our prefix: `calls_pending`, `backlog_bytes`. */
  readonly name: string
  /** What the number says, in a sentence without a full stop. */
  readonly help: string
  /** Tells numbers of one name apart. Few and known in advance: nothing that a peer chooses. */
  readonly labels?: { readonly [label: string]: string }
  /** It only grows, until the process starts anew. */
  readonly monotonic?: boolean
  /** Must be cheap and must not throw. */
  readonly read: () => number
}

/** Where parts of a Server count what happens to them. All of it may be called on the hot path. */
export interface ServerMetrics {
  /** A limit has turned something away; `limit` is its name among the limits, such as `callsPerAgent`. */
  readonly limitExceeded: (limit: string) => void
  /** Something was left out for want of room: `notification`, `audit`. */
  readonly dropped: (kind: string) => void
  /** A connection was refused, with one of the protocol's codes. */
  readonly connectionRejected: (code: number) => void
  /** Shows a number for as long as the scope. */
  readonly gauge: (gauge: Gauge) => Effect.Effect<void, never, Scope.Scope>
}

/** The tally of a Server; counts nothing unless somebody looks. */
export const ServerMetrics = Context.Reference<ServerMetrics>("a2c-smcp/application/server/Tally", {
  defaultValue: () => ({
    limitExceeded: () => undefined,
    dropped: () => undefined,
    connectionRejected: () => undefined,
    gauge: () => Effect.void
  })
})
