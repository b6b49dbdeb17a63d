import { assert, describe, it } from "@effect/vitest"
import { joinMetrics, mergeStatuses } from "../../../../src/adapters/http/pages/mergePages.ts"

const metricsOf = (worker: number, calls: number): string =>
  [
    "# HELP a2c_calls_total Routed calls",
    "# TYPE a2c_calls_total counter",
    `a2c_calls_total{worker="${worker}"} ${calls}`,
    "# TYPE plain gauge",
    `plain{worker="${worker}"} 1`,
    ""
  ].join("\n")

const statusOf = (members: object, officeList: ReadonlyArray<object> = [], more: object = {}) => ({
  state: "ready",
  lines: ["0.2"],
  offices: officeList.length,
  members,
  components: { registry: { ok: true } },
  gauges: { offices: officeList.length, "memory_limit_bytes{limit=requests}": 5, ready: 1 },
  officeList,
  ...more
})

const merge = (own: object, ...others: ReadonlyArray<object>) =>
  mergeStatuses(
    { ...own },
    others.map((status) => JSON.stringify(status))
  )

describe("joinMetrics", () => {
  it("holds the series of all texts below one description", () => {
    assert.strictEqual(
      joinMetrics([metricsOf(0, 3), metricsOf(1, 4)]),
      [
        "# HELP a2c_calls_total Routed calls",
        "# TYPE a2c_calls_total counter",
        'a2c_calls_total{worker="0"} 3',
        'a2c_calls_total{worker="1"} 4',
        "# TYPE plain gauge",
        'plain{worker="0"} 1',
        'plain{worker="1"} 1',
        ""
      ].join("\n")
    )
  })

  it("keeps the text of a single process", () => {
    assert.strictEqual(joinMetrics([metricsOf(0, 3)]), metricsOf(0, 3))
  })
})

describe("mergeStatuses", () => {
  it("adds up members, limits and counts of names that only one has", () => {
    const found = merge(
      statusOf({ agents: 1, computers: 2 }, [], { totals: { outcomes: { ok: 1 } } }),
      statusOf({ agents: 0, computers: 3 }, [], { totals: { outcomes: { ok: 2, error: 1 } } })
    )
    assert.deepInclude(found, { members: { agents: 1, computers: 5 }, totals: { outcomes: { ok: 3, error: 1 } } })
    assert.deepInclude(found["gauges"], { "memory_limit_bytes{limit=requests}": 10, ready: 1 })
  })

  it("adds up the members of an office, which counts once", () => {
    const office = { office: "o", line: "0.2", agents: 1, computers: 1 }
    const found = merge(
      statusOf({}, [office]),
      statusOf({}, [
        { ...office, agents: 0 },
        { ...office, line: "0.4" }
      ])
    )
    assert.deepStrictEqual(found["officeList"], [
      { ...office, computers: 2 },
      { ...office, line: "0.4" }
    ])
    assert.deepInclude(found, { offices: 2 })
    assert.deepInclude(found["gauges"], { offices: 2 })
  })

  it("names a component that fails in any process", () => {
    const failed = { components: { registry: { ok: false, error: "away" } } }
    assert.deepInclude(merge(statusOf({}), statusOf({}, [], failed)), failed)
  })

  it("takes the longest uptime, and the latency of the slowest process", () => {
    const timesOf = (time: number) => ({
      uptimeSeconds: time,
      startedAt: -time,
      recent: { perSecond: 1, latency: { p50: time } }
    })
    assert.deepInclude(merge(statusOf({}, [], timesOf(1)), statusOf({}, [], timesOf(2))), {
      uptimeSeconds: 2,
      startedAt: -2,
      recent: { perSecond: 2, latency: { p50: 2 } }
    })
  })
})
