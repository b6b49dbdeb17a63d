/** A status with a value in every row. */
export const everyStatus = {
  version: "0.1.0",
  lines: ["0.2", "0.3", "0.4"],
  state: "ready",
  components: { registry: {}, audit: { error: "no space left on the device of the audit log" } },
  uptimeSeconds: 93_784,
  members: { agents: 3, computers: 12 },
  offices: 3,
  recent: { perSecond: 12.5, latency: { p50: 12.3, p90: 48.6, p99: 1250 } },
  totals: {
    calls: 12_345,
    outcomes: { ok: 12_000, tool_error: 300, "404": 40, "408": 5 },
    limitRejections: { calls_per_agent: 3, message_rate: 12 },
    dropped: {},
    rejectedConnections: { "401": 7 }
  },
  gauges: {
    connections: 15,
    calls_in_flight: 4,
    backlog_bytes: 1_048_576,
    incomplete_bytes: 0,
    request_bytes: 262_144,
    "memory_limit_bytes{limit=total_backlog_bytes}": 1_073_741_824
  },
  officeList: [
    { office: "team", line: "0.2", otherLines: ["0.4"], agents: 1, computers: 2 },
    { office: "laboratory-on-the-second-floor-of-the-institute", line: "0.4", agents: 0, computers: 10 }
  ]
}
