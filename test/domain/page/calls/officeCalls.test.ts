import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { describeFailure, describeStatus, phaseOf } from "../../../../src/domain/page/calls/callPhase.ts"
import {
  arrangeLanes,
  callsBetween,
  callsOfOffice,
  latencyOf,
  maxLaneRows,
  percentile,
  segmentsOf
} from "../../../../src/domain/page/calls/officeCalls.ts"
import { applyMessage, initialState, type TrackedCall } from "../../../../src/domain/page/PageState.ts"
import { makeCall, makeSnapshot, startTime, team } from "../../../page/scripted/pageFixtures.ts"

const entry = (id: string, start: number, end?: number, computer = "desk"): TrackedCall => ({
  call: makeCall({ id, computer, startedAt: start, ...(end !== undefined && { endedAt: end, outcome: "ok" }) }),
  phases: []
})

const idsOf = (entries: ReadonlyArray<TrackedCall>) => entries.map(({ call }) => call.id)

describe("phaseOf", () => {
  it.each([
    ["running", {}],
    ["running", { status: { _tag: "Progressing", computer: "desk", progress: 1 } }],
    ["consent", { status: { _tag: "WaitingForConsent", computer: "desk" } }],
    ["waiting", { status: { _tag: "WaitingForServers", computer: "desk", servers: ["notes"] } }],
    ["done", { outcome: "ok", endedAt: startTime }],
    ["cancelled", { outcome: "cancelled", endedAt: startTime }],
    ["failed", { outcome: "tool_error", endedAt: startTime }],
    ["failed", { outcome: "timeout", endedAt: startTime }],
    ["failed", { outcome: "404", endedAt: startTime }]
  ] as const)("gives %s for %o", (phase, changes) => {
    assert.strictEqual(phaseOf(makeCall(changes)), phase)
  })
})

describe("describeStatus", () => {
  it.each([
    [undefined, ""],
    [{ _tag: "WaitingForConsent", computer: "desk" }, "waiting for consent"],
    [{ _tag: "Decided", computer: "desk", isAllowed: true, by: "operator:ann" }, "allowed by operator:ann"],
    [{ _tag: "Decided", computer: "desk", isAllowed: false, by: "operator:ann" }, "denied by operator:ann"],
    [{ _tag: "WaitingForServers", computer: "desk", servers: ["a", "b"] }, "waiting for servers that start: a, b"],
    [
      { _tag: "Progressing", computer: "desk", progress: 3, total: 10, message: "copying" },
      "progress: 3 of 10, copying"
    ],
    [{ _tag: "Progressing", computer: "desk", progress: 3 }, "progress: 3"]
  ] as const)("states %o in words", (status, words) => {
    assert.strictEqual(describeStatus(status), words)
  })
})

describe("describeFailure", () => {
  it.each([
    ["ok", ""],
    ["tool_error", "the tool returned an error"],
    ["timeout", "timeout"],
    ["cancelled", "the call was cancelled"],
    ["4005", "the call did not run: it was not approved"],
    ["4103", "error 4103"]
  ])("states the outcome %s in words", (outcome, words) => {
    assert.strictEqual(describeFailure(makeCall({ outcome })), words)
  })

  it.each([
    ["operator:ops", "you denied this call"],
    ["operator:ann", "operator:ann denied this call"]
  ])("states that %s denied the call", (by, words) => {
    const decision = { _tag: "Decided", computer: "desk", isAllowed: false, by } as const
    assert.strictEqual(describeFailure(makeCall({ outcome: "4005", decision }), "ops"), words)
  })
})

describe("callsOfOffice", () => {
  it("gives the calls of one office, the latest start first", () => {
    const others = [makeCall({ id: "other line", line: "0.4" }), makeCall({ id: "other office", office: "lab" })]
    const calls = [makeCall({ id: "old", startedAt: 1 }), makeCall({ id: "new", startedAt: 2 }), ...others]
    const state = applyMessage(initialState, makeSnapshot({ calls }))
    assert.deepStrictEqual(idsOf(callsOfOffice(state, team)), ["new", "old"])
  })

  it("gives requests other than calls of tools on demand only", () => {
    const { tool: _tool, ...listing } = makeCall({ id: "list", event: "client:get_tools", startedAt: 1 })
    const state = applyMessage(initialState, makeSnapshot({ calls: [makeCall({ id: "call", startedAt: 2 }), listing] }))
    assert.deepStrictEqual(idsOf(callsOfOffice(state, team)), ["call"])
    assert.deepStrictEqual(idsOf(callsOfOffice(state, team, true)), ["call", "list"])
  })
})

describe("arrangeLanes", () => {
  it("gives a lane to Computers without calls, and to Computers that left", () => {
    const lanes = arrangeLanes(["idle"], [entry("1", 0, 1, "gone")])
    const counts = lanes.map(({ calls, computer }) => `${computer} ${calls.length}`)
    assert.deepStrictEqual(counts, ["gone 1", "idle 0"])
  })

  it("puts overlapping calls into rows, and uses a free row again", () => {
    const [lane] = arrangeLanes([], [entry("a", 0, 10), entry("b", 5, 15), entry("c", 10, 20), entry("d", 12)])
    const rows = lane?.calls.map(({ row }) => row)
    assert.deepStrictEqual([rows, lane?.rows], [[0, 1, 0, 2], 3])
  })

  it("bounds the rows of a lane", () => {
    const entries = Array.from({ length: 50 }, (_, index) => entry(String(index), index))
    const [lane] = arrangeLanes([], entries)
    assert.strictEqual(lane?.rows, maxLaneRows)
  })

  it.prop(
    "never overlaps calls of a row, except the last one",
    [Schema.Array(Schema.Struct({ start: Schema.Natural, length: Schema.Natural }))],
    ([spans]) => {
      const entries = spans.map(({ length, start }, index) => entry(String(index), start, start + length))
      for (const { calls } of arrangeLanes([], entries)) {
        for (const row of Map.groupBy(calls, (one) => one.row).values()) {
          if (row[0]?.row === maxLaneRows - 1) continue
          row.slice(1).forEach(({ entry: { call } }, index) => {
            assert.isAtMost(row[index]?.entry.call.endedAt ?? 0, call.startedAt)
          })
        }
      }
    }
  )
})

describe("callsBetween", () => {
  it("gives the calls that overlap the span", () => {
    const entries = [entry("before", 0, 9), entry("into", 5, 12), entry("running", 1), entry("after", 21, 30)]
    assert.deepStrictEqual(idsOf(callsBetween(entries, 10, 20)), ["into", "running"])
  })
})

describe("segmentsOf", () => {
  it("shows the outcome where the tool ran, after the time of the consent", () => {
    const segments = segmentsOf(
      {
        call: makeCall({ startedAt: 0, endedAt: 100, outcome: "ok" }),
        phases: [
          { phase: "consent", at: 0 },
          { phase: "running", at: 40 },
          { phase: "done", at: 100 }
        ]
      },
      200
    )
    assert.deepStrictEqual(segments, [
      { phase: "consent", from: 0, to: 40 },
      { phase: "done", from: 40, to: 100 }
    ])
  })

  it("extends the last phase of a running call to now", () => {
    const call = makeCall({ startedAt: 10 })
    assert.deepStrictEqual(segmentsOf({ call, phases: [{ phase: "running", at: 10 }] }, 50), [
      { phase: "running", from: 10, to: 50 }
    ])
  })

  it("keeps the time of the wait of a call that fails while it waits", () => {
    const call = makeCall({ startedAt: 0, endedAt: 30, outcome: "4005" })
    const phases = [
      { phase: "consent", at: 0 },
      { phase: "failed", at: 30 }
    ] as const
    assert.deepStrictEqual(
      segmentsOf({ call, phases }, 50).map(({ from, phase, to }) => [phase, from, to]),
      [
        ["consent", 0, 30],
        ["failed", 30, 30]
      ]
    )
  })
})

describe("percentile", () => {
  it.each([
    [0.5, 5],
    [0.99, 10],
    [0.1, 1]
  ])("gives the nearest rank for %d", (share, expected) => {
    assert.strictEqual(percentile([10, 1, 2, 3, 4, 5, 6, 7, 8, 9], share), expected)
  })

  it("gives nothing without values", () => {
    assert.isUndefined(percentile([], 0.5))
  })
})

describe("latencyOf", () => {
  it("compares ended calls only", () => {
    assert.deepStrictEqual(latencyOf([entry("a", 0, 10), entry("b", 0, 30), entry("c", 0)]), { p50: 10, p99: 30 })
  })

  it("leaves out the time in which a call waits for consent", () => {
    const phases = [
      { phase: "running", at: 0 },
      { phase: "consent", at: 5 },
      { phase: "running", at: 905 },
      { phase: "done", at: 1000 }
    ] as const
    assert.deepStrictEqual(latencyOf([{ ...entry("a", 0, 1000), phases }]), { p50: 100, p99: 100 })
  })

  it("gives nothing while all calls run", () => {
    assert.isUndefined(latencyOf([entry("a", 0)]))
  })
})
