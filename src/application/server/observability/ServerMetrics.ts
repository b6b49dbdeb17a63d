import { Context, Effect, Layer, type Scope } from "effect"

export const metricPrefix = "a2c_"

/** Observable metrics are read when they are scraped; the others are updated. */
type MetricKind = "counter" | "histogram" | "observable_gauge" | "observable_counter"

const define =
  <const Kind extends MetricKind>(kind: Kind) =>
  (help: string, ...labels: ReadonlyArray<string>) => ({ kind, help, labels })

const counter = define("counter")
const gauge = define("observable_gauge")
const observableCounter = define("observable_counter")
const histogram = define("histogram")

/** Every metric of a Server by its name without {@link metricPrefix}: its kind, its help text and its labels. */
export const metricDefinitions = {
  audit_events_dropped_total: observableCounter("Audit events dropped because the audit file could not keep up"),
  backlog_bytes: gauge("Bytes queued for clients that do not read, deferred notifications included"),
  build_info: gauge("Always 1", "version", "lines"),
  call_duration_seconds: histogram("Duration of routed calls, with their waits for consent", "event"),
  call_reply_bytes_total: counter("Bytes of JSON of replies to routed calls", "event"),
  call_request_bytes_total: counter("Bytes of JSON of routed calls", "event"),
  calls_in_flight: gauge("Calls in flight"),
  calls_total: counter("Routed calls by event and outcome", "event", "outcome"),
  components_unhealthy: gauge("Unhealthy components of the Server, such as its registry"),
  connections: gauge("Open connections"),
  connections_rejected_total: counter("Connections and requests for operator pages rejected, by protocol code", "code"),
  dropped_total: counter("Messages and notifications dropped because of a limit", "kind"),
  event_loop_lag_seconds: gauge("Event loop lag in the last 15 seconds", "quantile"),
  incomplete_bytes: gauge("Bytes of messages of clients that have arrived in part"),
  joins_rejected_total: counter("Joins rejected"),
  joins_total: counter("Members that joined an office", "role"),
  leaves_total: counter("Members that left an office or were lost", "role"),
  limit_rejections_total: counter("Requests rejected and connections closed because of a limit", "limit"),
  members: gauge("Members in offices", "role"),
  memory_limit_bytes: gauge("Limits of the bytes that all clients together may occupy", "limit"),
  node_dropped_messages_total: observableCounter("Messages to other Servers dropped: no connection, or a full queue"),
  node_links: gauge("Open links to other Servers"),
  node_queued_bytes: gauge("Bytes of bodies queued for other Servers"),
  node_requests: gauge("Requests between Servers of the cluster in flight", "direction"),
  nodes: gauge("Servers in the cluster"),
  offices: gauge("Offices with members of this Server"),
  process_cpu_seconds_total: observableCounter("CPU time of the process"),
  process_heap_used_bytes: gauge("JavaScript heap in use"),
  process_resident_memory_bytes: gauge("Resident memory of the process"),
  ready: gauge("1 while the Server accepts members"),
  registry_offices: gauge("Offices that the registry of this Server follows"),
  registry_sessions: gauge("Connections of this Server that its registry knows"),
  registry_up: gauge("1 while the registry is available and members can join"),
  request_bytes: gauge("Memory of requests in progress"),
  unauthenticated_connections: gauge("Connections that have not authenticated yet"),
  uptime_seconds: gauge("Time since the Server started")
}

type MetricName = keyof typeof metricDefinitions

export type NamesOf<Kind extends MetricKind> = {
  [Name in MetricName]: (typeof metricDefinitions)[Name]["kind"] extends Kind ? Name : never
}[MetricName]

/** A number that is read when the metrics are scraped. */
export interface Gauge {
  readonly name: NamesOf<"observable_gauge" | "observable_counter">
  /** Few values that are known in advance: nothing that a client chooses. */
  readonly labels?: { readonly [label: string]: string }
  /** Must be cheap and must not throw. */
  readonly read: () => number
}

/** The metrics of a Server. Every method may be called on the hot path. */
export class ServerMetrics extends Context.Service<
  ServerMetrics,
  {
    /** Counts a rejection or a closed connection by its limit. The label is in snake case: `calls_per_agent`. */
    readonly limitExceeded: (limit: string) => void
    /** Counts something dropped because of a limit: `notification`, `message`. */
    readonly dropped: (kind: string) => void
    /** Registers a gauge as long as the scope. */
    readonly gauge: (gauge: Gauge) => Effect.Effect<void, never, Scope.Scope>
  }
>()("a2c-smcp/application/server/observability/ServerMetrics") {
  /** Counts nothing. */
  static readonly layerNone: Layer.Layer<ServerMetrics> = Layer.sync(ServerMetrics, () => noMetrics)
}

export const noMetrics: ServerMetrics["Service"] = {
  limitExceeded: () => undefined,
  dropped: () => undefined,
  gauge: () => Effect.void
}
