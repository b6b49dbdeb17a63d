/** What every metric name begins with. */
export const metricPrefix = "a2c_"

interface MetricDefinition {
  /** Observable metrics are read when they are scraped; the others are updated. */
  readonly kind: "counter" | "histogram" | "observable_gauge" | "observable_counter"
  readonly labels?: ReadonlyArray<string>
  /** A phrase without a full stop. */
  readonly help: string
}

/** Every metric of a Server, by its name without {@link metricPrefix}. docs/operations.md lists them. */
export const metricDefinitions = {
  audit_events_dropped_total: {
    kind: "observable_counter",
    help: "Audit events dropped because the audit file could not keep up"
  },
  backlog_bytes: {
    kind: "observable_gauge",
    help: "Bytes sent to clients that they have not read yet"
  },
  build_info: { kind: "observable_gauge", labels: ["version", "protocol"], help: "Always 1" },
  call_duration_seconds: { kind: "histogram", labels: ["event"], help: "Duration of routed calls" },
  call_reply_bytes_total: {
    kind: "counter",
    labels: ["event"],
    help: "Bytes of JSON of replies to routed calls"
  },
  call_request_bytes_total: {
    kind: "counter",
    labels: ["event"],
    help: "Bytes of JSON of routed calls"
  },
  calls_in_flight: { kind: "observable_gauge", help: "Calls in flight" },
  calls_total: {
    kind: "counter",
    labels: ["event", "outcome"],
    help: "Routed calls by event and outcome"
  },
  components_unhealthy: {
    kind: "observable_gauge",
    help: "Unhealthy components of the Server, such as its registry"
  },
  connections: { kind: "observable_gauge", help: "Open connections" },
  connections_rejected_total: {
    kind: "counter",
    labels: ["code"],
    help: "Connections and requests for operator pages rejected, by protocol code"
  },
  dropped_total: {
    kind: "counter",
    labels: ["kind"],
    help: "Messages and notifications dropped because of a limit"
  },
  event_loop_lag_seconds: {
    kind: "observable_gauge",
    labels: ["quantile"],
    help: "Event loop lag in the last 15 seconds"
  },
  joins_rejected_total: { kind: "counter", help: "Joins rejected" },
  joins_total: { kind: "counter", labels: ["role"], help: "Members that joined an office" },
  leaves_total: { kind: "counter", labels: ["role"], help: "Members that left an office or were lost" },
  limit_rejections_total: {
    kind: "counter",
    labels: ["limit"],
    help: "Requests rejected and connections closed because of a limit"
  },
  members: { kind: "observable_gauge", labels: ["role"], help: "Members in offices" },
  node_dropped_messages_total: {
    kind: "observable_counter",
    help: "Messages to other Servers dropped: no connection, or a full queue"
  },
  node_ignored_messages_total: {
    kind: "observable_counter",
    help: "Late replies and unreadable messages from other Servers"
  },
  node_incomplete_bodies: {
    kind: "observable_gauge",
    help: "Bodies received in part from other Servers"
  },
  node_queued_bytes: { kind: "observable_gauge", help: "Bytes of bodies queued for other Servers" },
  node_requests: {
    kind: "observable_gauge",
    labels: ["direction"],
    help: "Requests between Servers of the cluster in flight"
  },
  nodes: { kind: "observable_gauge", help: "Servers in the cluster" },
  offices: { kind: "observable_gauge", help: "Offices with members of this Server" },
  process_cpu_seconds_total: { kind: "observable_counter", help: "CPU time of the process" },
  process_heap_used_bytes: { kind: "observable_gauge", help: "JavaScript heap in use" },
  process_resident_memory_bytes: { kind: "observable_gauge", help: "Resident memory of the process" },
  ready: { kind: "observable_gauge", help: "1 while the Server accepts members" },
  registry_offices: {
    kind: "observable_gauge",
    help: "Offices that the registry of this Server follows"
  },
  registry_sessions: {
    kind: "observable_gauge",
    help: "Connections of this Server that its registry knows"
  },
  registry_up: { kind: "observable_gauge", help: "1 while the registry is available and members can join" },
  unauthenticated_connections: {
    kind: "observable_gauge",
    help: "Connections that have not authenticated yet"
  },
  uptime_seconds: { kind: "observable_gauge", help: "Time since the Server started" }
} as const satisfies { readonly [name: string]: MetricDefinition }

type Definitions = typeof metricDefinitions

/** The names of metrics of some kinds. */
type NamesOf<Kind extends MetricDefinition["kind"]> = {
  [Name in keyof Definitions]: Definitions[Name]["kind"] extends Kind ? Name : never
}[keyof Definitions]

export type CounterName = NamesOf<"counter">
export type GaugeName = NamesOf<"observable_gauge" | "observable_counter">
