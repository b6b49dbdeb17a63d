import { Context, Effect, Metric } from "effect"
import { routedEvents } from "../../../domain/wire/lines.ts"
import { codeLabel, callOutcome } from "./callOutcome.ts"
import type { CompletedCall } from "./observers.ts"
import type { MembershipEvent } from "./MembershipObservers.ts"
import type { Gauge, ServerMetrics } from "./ServerMetrics.ts"

/** Upper bounds of the histogram of latencies, in seconds: half a millisecond to five minutes. */
const latencyBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300
]

/** What all names begin with, so that they stand apart where metrics of many programs come together. */
const prefix = "a2c_"

/** Hooks of a series that is only read. */
const unwritable = { update: () => undefined, modify: () => undefined }

/** How many different words one label may have, in case somebody counts by a word that a peer chooses. */
const maxLabelValues = 64

/** The numbers that have grown since the start. */
export interface MetricTotals {
  readonly calls: number
  /** Calls by how they ended. */
  readonly outcomes: { readonly [outcome: string]: number }
  readonly refused: { readonly [limit: string]: number }
  readonly dropped: { readonly [kind: string]: number }
  readonly turnedAway: { readonly [code: string]: number }
}

/** Counts what a Server does, in Effect's metrics and in sums that are read without them. */
export interface EffectMetrics extends ServerMetrics {
  readonly onCall: (call: CompletedCall) => void
  readonly onMembership: (event: MembershipEvent) => void
  readonly totals: () => MetricTotals
  /** Every gauge by its name and labels. */
  readonly gauges: () => { readonly [name: string]: number }
}

const formatGaugeKey = ({ labels = {}, name }: Gauge): string => {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${value}`)
  return pairs.length === 0 ? name : `${name}{${pairs.join(",")}}`
}

/** Metrics in the registry of this context: those of the process unless a host gives its own. */
export const makeEffectMetrics: Effect.Effect<EffectMetrics> = Effect.map(
  Effect.context<never>(),
  (given) => {
    // Attributes of whoever starts the Server are not the Server's.
    const context = Context.add(given, Metric.CurrentMetricAttributes, {})
    const gauges = new Map<string, () => number>()

    /** Counts by one label. The series of a word is made when the word first comes. */
    const labelledCounter = (name: string, description: string, label: string) => {
      const series = new Map<string, { count: number; readonly add: () => void }>()
      const makeSeries = (word: string) => {
        const counter = Metric.counter(prefix + name, {
          description,
          incremental: true,
          attributes: { [label]: word }
        })
        const entry = { count: 0, add: () => counter.updateUnsafe(1, context) }
        series.set(word, entry)
        return entry
      }
      return {
        add: (given: string) => {
          const word = series.has(given) || series.size < maxLabelValues ? given : "other"
          const entry = series.get(word) ?? makeSeries(word)
          entry.count += 1
          entry.add()
        },
        counts: () => Object.fromEntries([...series].map(([word, { count }]) => [word, count]))
      }
    }

    /** What is kept for one event, whose outcomes get their series when they first come. */
    const makeEventSeries = (event: string) => {
      const attributes = { event }
      const sum = (name: string, description: string) =>
        Metric.counter(prefix + name, { description, incremental: true, attributes })
      return {
        latency: Metric.histogram(`${prefix}call_duration_seconds`, {
          description: "How long routed calls took",
          boundaries: latencyBounds,
          attributes
        }),
        requestBytes: sum("call_request_bytes_total", "Bytes of JSON of routed requests"),
        replyBytes: sum("call_answer_bytes_total", "Bytes of JSON of answers to routed requests"),
        outcomes: new Map<string, Metric.Counter<number>>()
      }
    }
    const byEvent = new Map<string, ReturnType<typeof makeEventSeries>>()
    const outcomes = new Map<string, number>()
    let calls = 0

    const outcomeCounter = (event: string, outcome: string) =>
      Metric.counter(`${prefix}calls_total`, {
        description: "Routed calls by event and how they ended",
        incremental: true,
        attributes: { event, outcome }
      })

    const onCall = (call: CompletedCall) => {
      const event = routedEvents.has(call.event) ? call.event : "client:*"
      let eventSeries = byEvent.get(event)
      if (eventSeries === undefined) byEvent.set(event, (eventSeries = makeEventSeries(event)))
      const outcome = callOutcome(call)
      let counter = eventSeries.outcomes.get(outcome)
      if (counter === undefined) eventSeries.outcomes.set(outcome, (counter = outcomeCounter(event, outcome)))
      calls += 1
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      counter.updateUnsafe(1, context)
      eventSeries.latency.updateUnsafe(Math.max(0, call.endedAt - call.startedAt) / 1000, context)
      eventSeries.requestBytes.updateUnsafe(call.request.byteLength(), context)
      if (!("_tag" in call.outcome)) eventSeries.replyBytes.updateUnsafe(call.outcome.byteLength(), context)
    }

    const limitExceeded = labelledCounter("refusals_total", "What limits have turned away", "limit")
    const dropped = labelledCounter("dropped_total", "What was left out for want of room", "kind")
    const connectionsRejected = labelledCounter(
      "connections_refused_total",
      "Connections that were not let in",
      "code"
    )
    const joins = labelledCounter("joins_total", "Members that came into an office", "role")
    const leaves = labelledCounter("leaves_total", "Members that left an office or were lost", "role")
    const joinsRejected = Metric.counter(`${prefix}joins_refused_total`, {
      description: "Members that were not let into an office",
      incremental: true
    })

    const onMembership = (event: MembershipEvent) => {
      switch (event._tag) {
        case "Entered":
          return joins.add(event.membership.role)
        case "Left":
          return leaves.add(event.membership.role)
        case "ConnectionRefused":
          return connectionsRejected.add(codeLabel(event.code))
        case "JoinRefused":
          return joinsRejected.updateUnsafe(1, context)
      }
    }

    const gauge = (given: Gauge) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => {
            const { monotonic = false, help: description, labels: attributes = {}, name, read } = given
            gauges.set(formatGaugeKey(given), read)
            const options = { description, attributes }
            return monotonic
              ? Metric.registerUnsafe(
                  Metric.counter(prefix + name, { ...options, incremental: true }),
                  context,
                  {
                    get: () => ({ count: read(), incremental: true }),
                    ...unwritable
                  }
                )
              : Metric.registerUnsafe(Metric.gauge(prefix + name, options), context, {
                  get: () => ({ value: read() }),
                  ...unwritable
                })
          }),
          (registration) =>
            Effect.sync(() => {
              if (gauges.get(formatGaugeKey(given)) === given.read) gauges.delete(formatGaugeKey(given))
              registration.remove()
            })
        )
      )

    return {
      onCall,
      onMembership,
      limitExceeded: limitExceeded.add,
      dropped: dropped.add,
      connectionRejected: (code) => connectionsRejected.add(codeLabel(code)),
      gauge,
      totals: () => ({
        calls,
        outcomes: Object.fromEntries(outcomes),
        refused: limitExceeded.counts(),
        dropped: dropped.counts(),
        turnedAway: connectionsRejected.counts()
      }),
      gauges: () => Object.fromEntries([...gauges].map(([name, read]) => [name, read()]))
    }
  }
)
