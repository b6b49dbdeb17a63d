import { Context, Effect, Metric } from "effect"
import { calls as callTable } from "../../domain/protocol/v0_2/events.ts"
import { labelOf, outcomeOf } from "./outcome.ts"
import type { EndedCall } from "./CallObservers.ts"
import type { EntryFact } from "./EntryObservers.ts"
import type { Gauge, Tally } from "./Tally.ts"

/** Upper bounds of the histogram of latencies, in seconds: half a millisecond to five minutes. */
const latencyBounds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300
]

/** What all names begin with, so that they stand apart where metrics of many programs come together. */
const prefix = "a2c_"

/** Hooks of a series that is only read. */
const unwritable = { update: () => undefined, modify: () => undefined }

/** How many different words one label may have, in case somebody counts by a word that a peer chooses. */
const mostWords = 64

const events: ReadonlySet<string> = new Set(Object.values(callTable).map(({ event }) => event))

/** The numbers that have grown since the start. */
export interface Totals {
  readonly calls: number
  /** Calls by how they ended. */
  readonly outcomes: { readonly [outcome: string]: number }
  readonly refused: { readonly [limit: string]: number }
  readonly dropped: { readonly [kind: string]: number }
  readonly turnedAway: { readonly [code: string]: number }
}

/** Counts what a Server does, in Effect's metrics and in sums that are read without them. */
export interface Metrics extends Tally {
  readonly call: (call: EndedCall) => void
  readonly entry: (fact: EntryFact) => void
  readonly totals: () => Totals
  /** Every gauge by its name and labels. */
  readonly gauges: () => { readonly [name: string]: number }
}

const spell = ({ labels = {}, name }: Gauge): string => {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}=${value}`)
  return pairs.length === 0 ? name : `${name}{${pairs.join(",")}}`
}

/** Metrics in the registry of this context: those of the process unless a host gives its own. */
export const makeMetrics: Effect.Effect<Metrics> = Effect.map(Effect.context<never>(), (given) => {
  // Attributes of whoever starts the Server are not the Server's.
  const context = Context.add(given, Metric.CurrentMetricAttributes, {})
  const gauges = new Map<string, () => number>()

  /** Counts by one label. The series of a word is made when the word first comes. */
  const counting = (name: string, description: string, label: string) => {
    const series = new Map<string, { count: number; readonly add: () => void }>()
    const made = (word: string) => {
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
        const word = series.has(given) || series.size < mostWords ? given : "other"
        const entry = series.get(word) ?? made(word)
        entry.count += 1
        entry.add()
      },
      counts: () => Object.fromEntries([...series].map(([word, { count }]) => [word, count]))
    }
  }

  /** What is kept for one event, whose outcomes get their series when they first come. */
  const series = (event: string) => {
    const attributes = { event }
    const sum = (name: string, description: string) =>
      Metric.counter(prefix + name, { description, incremental: true, attributes })
    return {
      latency: Metric.histogram(`${prefix}call_duration_seconds`, {
        description: "How long routed calls took",
        boundaries: latencyBounds,
        attributes
      }),
      asked: sum("call_request_bytes_total", "Bytes of JSON of routed requests"),
      answered: sum("call_answer_bytes_total", "Bytes of JSON of answers to routed requests"),
      outcomes: new Map<string, Metric.Counter<number>>()
    }
  }
  const byEvent = new Map<string, ReturnType<typeof series>>()
  const outcomes = new Map<string, number>()
  let calls = 0

  const countOf = (event: string, outcome: string) =>
    Metric.counter(`${prefix}calls_total`, {
      description: "Routed calls by event and how they ended",
      incremental: true,
      attributes: { event, outcome }
    })

  const call = (ended: EndedCall) => {
    const event = events.has(ended.event) ? ended.event : "client:*"
    let kept = byEvent.get(event)
    if (kept === undefined) byEvent.set(event, (kept = series(event)))
    const outcome = outcomeOf(ended)
    let counter = kept.outcomes.get(outcome)
    if (counter === undefined) kept.outcomes.set(outcome, (counter = countOf(event, outcome)))
    calls += 1
    outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    counter.updateUnsafe(1, context)
    kept.latency.updateUnsafe(Math.max(0, ended.endedAt - ended.startedAt) / 1000, context)
    kept.asked.updateUnsafe(ended.request.bytes(), context)
    if (!("_tag" in ended.outcome)) kept.answered.updateUnsafe(ended.outcome.bytes(), context)
  }

  const refused = counting("refusals_total", "What limits have turned away", "limit")
  const dropped = counting("dropped_total", "What was left out for want of room", "kind")
  const turnedAway = counting("connections_refused_total", "Connections that were not let in", "code")
  const joins = counting("joins_total", "Members that came into an office", "role")
  const leaves = counting("leaves_total", "Members that left an office or were lost", "role")
  const joinsRefused = Metric.counter(`${prefix}joins_refused_total`, {
    description: "Members that were not let into an office",
    incremental: true
  })

  const entry = (fact: EntryFact) => {
    switch (fact._tag) {
      case "Entered":
        return joins.add(fact.seat.role)
      case "Left":
        return leaves.add(fact.seat.role)
      case "ConnectionRefused":
        return turnedAway.add(labelOf(fact.code))
      case "JoinRefused":
        return joinsRefused.updateUnsafe(1, context)
    }
  }

  const gauge = (given: Gauge) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => {
          const { grows = false, help: description, labels: attributes = {}, name, read } = given
          gauges.set(spell(given), read)
          const options = { description, attributes }
          return grows
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
            if (gauges.get(spell(given)) === given.read) gauges.delete(spell(given))
            registration.remove()
          })
      )
    )

  return {
    call,
    entry,
    refused: refused.add,
    dropped: dropped.add,
    turnedAway: (code) => turnedAway.add(labelOf(code)),
    gauge,
    totals: () => ({
      calls,
      outcomes: Object.fromEntries(outcomes),
      refused: refused.counts(),
      dropped: dropped.counts(),
      turnedAway: turnedAway.counts()
    }),
    gauges: () => Object.fromEntries([...gauges].map(([name, read]) => [name, read()]))
  }
})
