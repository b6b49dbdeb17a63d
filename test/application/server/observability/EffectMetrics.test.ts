import { assert, describe } from "@effect/vitest"
import { Context, Effect, Exit, Metric, Scope } from "effect"
import { jsonBody } from "../../../../src/application/ports/Body.ts"
import { makeEffectMetrics } from "../../../../src/application/server/observability/EffectMetrics.ts"
import { metricDefinitions } from "../../../../src/application/server/observability/ServerMetrics.ts"
import { completedCall } from "../parts.ts"
import { effectWith } from "../../../testWith.ts"

/** The metrics of a Server with a separate registry. `read` gives the series of a name, by its attributes. */
const start = Effect.gen(function* () {
  const registry = Context.make(Metric.MetricRegistry, new Map())
  const metrics = yield* Effect.provideContext(makeEffectMetrics, registry)
  const read = (name: string) => Metric.snapshotUnsafe(registry).filter(({ id }) => id === name)
  return { ...metrics, read }
})

const test = effectWith(start)

describe("the record of calls", () => {
  test("sums the durations in seconds, and counts a clock that was set back as none", ({ onCall, read }) => {
    onCall(completedCall({ startedAt: 10_000, endedAt: 12_500 }))
    onCall(completedCall({ startedAt: 10_000, endedAt: 5000 }))
    const [series, ...others] = read("a2c_call_duration_seconds")
    assert.deepStrictEqual(others, [])
    assert.deepInclude(series?.state, { sum: 2.5, count: 2 })
  })

  test("has one series for events that the protocol does not list", ({ onCall, read }) => {
    for (const event of ["client:new", "client:*"]) onCall(completedCall({ event }))
    const [series, ...others] = read("a2c_calls_total")
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual(series?.attributes, { event: "client:*", outcome: "ok" })
    assert.deepStrictEqual(series?.state, { count: 2, incremental: true })
  })

  test("counts outcomes from their first call on", ({ onCall, totals }) => {
    onCall(completedCall())
    assert.deepStrictEqual(totals().outcomes, { ok: 1 })
    onCall(completedCall())
    onCall(completedCall({ outcome: jsonBody({ isError: true }) }))
    assert.deepStrictEqual([totals().calls, totals().outcomes], [3, { ok: 2, tool_error: 1 }])
  })
})

describe("a label", () => {
  test("has at most 64 values, and the rest counts as other", ({ service, totals }) => {
    for (let limit = 0; limit < 70; limit++) service.limitExceeded(`limit${limit}`)
    service.limitExceeded("limit0")
    const { limitRejections } = totals()
    assert.strictEqual(Object.keys(limitRejections).length, 65)
    assert.deepInclude(limitRejections, { limit0: 2, limit63: 1, other: 6 })
  })
})

describe("a metric that is read when it is scraped", () => {
  test("is a counter or a gauge, as its definition says", function* ({ read, service }) {
    const labels = { of: "a test" }
    yield* service.gauge({ name: "audit_events_dropped_total", labels, read: () => 5 })
    yield* service.gauge({ name: "nodes", labels, read: () => 3 })
    assert.deepInclude(read("a2c_audit_events_dropped_total")[0], {
      type: "Counter",
      description: metricDefinitions.audit_events_dropped_total.help,
      attributes: labels,
      state: { count: 5, incremental: true }
    })
    assert.deepInclude(read("a2c_nodes")[0], {
      type: "Gauge",
      description: metricDefinitions.nodes.help,
      attributes: labels,
      state: { value: 3 }
    })
  })

  test("stays when the scope of its predecessor closes", function* ({ gauges, service }) {
    const scope = yield* Scope.make()
    yield* Scope.provide(service.gauge({ name: "nodes", read: () => 3 }), scope)
    yield* service.gauge({ name: "nodes", read: () => 4 })
    yield* Scope.close(scope, Exit.void)
    assert.deepStrictEqual(gauges(), { nodes: 4 })
  })
})
