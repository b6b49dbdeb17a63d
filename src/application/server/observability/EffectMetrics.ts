import { Context, Effect, Metric, Number } from "effect"
import { routedEvents } from "../../../domain/wire/lines.ts"
import { callOutcome, codeLabel, type CompletedCall, type ObservedEvent } from "./observers.ts"
import { formatLimitName } from "../Limits.ts"
import type { MetricTotals } from "./statusReport.ts"
import { type Gauge, metricDefinitions, metricPrefix, type NamesOf, ServerMetrics } from "./ServerMetrics.ts"

/** Upper bounds of the latency histogram, in seconds: half a millisecond to five minutes. */
const latencyBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** Series of one label at most, in case a client chooses its values. */
const maxLabelValues = 64

type CounterName = NamesOf<"counter">

const makeCounter = (name: CounterName, attributes: Gauge["labels"] = {}) =>
  Metric.counter(metricPrefix + name, { description: metricDefinitions[name].help, incremental: true, attributes })

const formatGaugeKey = ({ labels = {}, name }: Gauge): string => {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${value}`)
  return pairs.length === 0 ? name : `${name}{${pairs.join(",")}}`
}

type MetricContext = Context.Context<never>

/** Makes a counter by one label. A series is made on first use. */
const makeLabelledCounter = (context: MetricContext, name: CounterName, label: string) => {
  const series = new Map<string, { count: number; readonly counter: Metric.Counter<number> }>()
  return {
    add: (wanted: string) => {
      const value = series.has(wanted) || series.size < maxLabelValues ? wanted : "other"
      let entry = series.get(value)
      if (entry === undefined) series.set(value, (entry = { count: 0, counter: makeCounter(name, { [label]: value }) }))
      entry.count += 1
      entry.counter.updateUnsafe(1, context)
    },
    counts: () => Object.fromEntries([...series].map(([value, { count }]) => [value, count]))
  }
}

const makeEventSeries = (event: string) => ({
  latency: Metric.histogram(`${metricPrefix}call_duration_seconds`, {
    description: metricDefinitions.call_duration_seconds.help,
    boundaries: latencyBounds,
    attributes: { event }
  }),
  requestBytes: makeCounter("call_request_bytes_total", { event }),
  replyBytes: makeCounter("call_reply_bytes_total", { event }),
  outcomes: new Map<string, Metric.Counter<number>>()
})

/** Makes the counters of completed calls, by event and outcome. */
const makeCallCounters = (context: MetricContext) => {
  const byEvent = new Map<string, ReturnType<typeof makeEventSeries>>()
  const outcomes = new Map<string, number>()
  return {
    onCall: (call: CompletedCall) => {
      const event = routedEvents.has(call.event) ? call.event : "client:*"
      let eventSeries = byEvent.get(event)
      if (eventSeries === undefined) byEvent.set(event, (eventSeries = makeEventSeries(event)))
      const outcome = callOutcome(call)
      let counter = eventSeries.outcomes.get(outcome)
      if (counter === undefined) {
        eventSeries.outcomes.set(outcome, (counter = makeCounter("calls_total", { event, outcome })))
      }
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      counter.updateUnsafe(1, context)
      eventSeries.latency.updateUnsafe(Math.max(0, call.endedAt - call.startedAt) / 1000, context)
      eventSeries.requestBytes.updateUnsafe(call.request.byteLength(), context)
      if (!("_tag" in call.outcome)) eventSeries.replyBytes.updateUnsafe(call.outcome.byteLength(), context)
    },
    totals: () => ({ calls: Number.sumAll(outcomes.values()), outcomes: Object.fromEntries(outcomes) })
  }
}

const registerGauge = (context: MetricContext, { labels: attributes = {}, name, read }: Gauge) => {
  const { help: description, kind } = metricDefinitions[name]
  const options = { description, attributes }
  const readOnly = { update: () => undefined, modify: () => undefined }
  return kind === "observable_counter"
    ? Metric.registerUnsafe(Metric.counter(metricPrefix + name, { ...options, incremental: true }), context, {
        get: () => ({ count: read(), incremental: true }),
        ...readOnly
      })
    : Metric.registerUnsafe(Metric.gauge(metricPrefix + name, options), context, {
        get: () => ({ value: read() }),
        ...readOnly
      })
}

/** Makes the gauges by their names and labels. */
const makeGauges = (context: MetricContext) => {
  const gauges = new Map<string, () => number>()
  const add = (gauge: Gauge) =>
    Effect.sync(() => {
      const key = formatGaugeKey(gauge)
      const { remove } = registerGauge(context, gauge)
      gauges.set(key, gauge.read)
      return Effect.sync(() => {
        if (gauges.get(key) === gauge.read) gauges.delete(key)
        remove()
      })
    })
  return {
    add: (gauge: Gauge) => Effect.asVoid(Effect.acquireRelease(add(gauge), (remove) => remove)),
    values: () => Object.fromEntries([...gauges].map(([name, read]) => [name, read()]))
  }
}

/** Labels of all metrics of a Server. */
export const MetricLabels = Context.Reference<NonNullable<Gauge["labels"]>>(
  "a2c-smcp/application/server/MetricLabels",
  {
    defaultValue: () => ({})
  }
)

/**
 * Counts in Effect's metrics, and in sums for the status report, which must not contain those of other Servers.
 * Registers the metrics in the registry of the context: that of the process unless the host provides one.
 */
export const makeEffectMetrics = Effect.map(Effect.context<never>(), (given) => {
  // Without the attributes of the fiber that starts the Server.
  const context = Context.add(given, Metric.CurrentMetricAttributes, Context.get(given, MetricLabels))
  const calls = makeCallCounters(context)
  const gauges = makeGauges(context)
  const limitExceeded = makeLabelledCounter(context, "limit_rejections_total", "limit")
  const dropped = makeLabelledCounter(context, "dropped_total", "kind")
  const connectionsRejected = makeLabelledCounter(context, "connections_rejected_total", "code")
  const joins = makeLabelledCounter(context, "joins_total", "role")
  const leaves = makeLabelledCounter(context, "leaves_total", "role")
  const joinsRejected = makeCounter("joins_rejected_total")

  const onMembership = (event: ObservedEvent) => {
    switch (event._tag) {
      case "Entered":
        return joins.add(event.membership.role)
      case "Left":
        return leaves.add(event.membership.role)
      case "ConnectionRejected":
        return connectionsRejected.add(codeLabel(event.code))
      case "JoinRejected":
        return joinsRejected.updateUnsafe(1, context)
      case "RequestRejected":
        return
    }
  }

  return {
    service: ServerMetrics.of({
      limitExceeded: (limit) => limitExceeded.add(formatLimitName(limit)),
      dropped: dropped.add,
      gauge: gauges.add
    }),
    onCall: calls.onCall,
    onMembership,
    totals: (): MetricTotals => ({
      ...calls.totals(),
      limitRejections: limitExceeded.counts(),
      dropped: dropped.counts(),
      rejectedConnections: connectionsRejected.counts()
    }),
    /** The value of every gauge by its name and labels. */
    gauges: gauges.values
  }
})
