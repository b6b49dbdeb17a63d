import { Schema } from "effect"

const Counts = Schema.Record(Schema.String, Schema.Finite)

/** Counts since the start. */
const MetricTotals = Schema.Struct({
  calls: Schema.Finite,
  outcomes: Counts,
  limitRejections: Counts,
  dropped: Counts,
  rejectedConnections: Counts
})
export type MetricTotals = typeof MetricTotals.Type

/** The calls of the last minute. */
const RecentCalls = Schema.Struct({
  /** Completed calls per second, averaged over about ten seconds. */
  perSecond: Schema.Finite,
  /** Percentiles in milliseconds with waits for consent, and an error below a tenth; missing without calls. */
  latency: Schema.optionalKey(Schema.Struct({ p50: Schema.Finite, p90: Schema.Finite, p99: Schema.Finite }))
})
export type RecentCalls = typeof RecentCalls.Type

const OfficeCount = Schema.Struct({
  office: Schema.String,
  line: Schema.String,
  /** The other lines on which this Server has members in an office with this id: they do not meet. */
  otherLines: Schema.optionalKey(Schema.Array(Schema.String)),
  agents: Schema.Finite,
  computers: Schema.Finite
})
export type OfficeCount = typeof OfficeCount.Type

/** What programs read of the status of a Server of any version, without names of members. */
export const ReportedStatus = Schema.Struct({
  version: Schema.String,
  /** The protocol lines that it serves. */
  lines: Schema.Array(Schema.String),
  state: Schema.String,
  /** Why it is not ready. */
  reason: Schema.optionalKey(Schema.String),
  /** The health of each component, such as the registry. */
  components: Schema.Record(Schema.String, Schema.Struct({ error: Schema.optionalKey(Schema.String) })),
  uptimeSeconds: Schema.Finite,
  members: Schema.Struct({ agents: Schema.Finite, computers: Schema.Finite }),
  offices: Schema.Finite,
  recent: RecentCalls,
  totals: MetricTotals,
  gauges: Counts,
  officeList: Schema.optionalKey(Schema.Array(OfficeCount))
})
export type ReportedStatus = typeof ReportedStatus.Type

/** The status that a Server of this version reports. */
export interface StatusReport extends Omit<ReportedStatus, "officeList"> {
  readonly state: "starting" | "ready" | "draining"
  readonly components: { readonly [component: string]: { readonly ok: boolean; readonly error?: string } }
  /** Milliseconds of the epoch. */
  readonly startedAt: number
}
