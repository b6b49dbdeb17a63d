import { assert, describe, it } from "@effect/vitest"
import {
  approvalsOfOffice,
  findDecidedCalls,
  findOpenApprovals,
  isOpen,
  type ListedApproval,
  maxClosedApprovals,
  maxDecidedCalls,
  updateListed
} from "../../../../src/domain/page/calls/openApprovals.ts"
import type { PageCall, PageEvent } from "../../../../src/domain/page/PageEvent.ts"
import { applyMessage, initialState, type PageState } from "../../../../src/domain/page/PageState.ts"
import {
  makeBatch,
  makeCall,
  makeSnapshot,
  makeWaitingCall,
  startTime,
  team
} from "../../../page/scripted/pageFixtures.ts"

const callsOf = (...calls: ReadonlyArray<PageCall>): PageState["calls"] =>
  applyMessage(initialState, makeSnapshot({ calls })).calls

const decision = (isAllowed: boolean) => ({ _tag: "Decided", computer: "desk", isAllowed, by: "operator:ann" }) as const

describe("findOpenApprovals", () => {
  it("gives running calls that wait for an approval, the oldest call first", () => {
    const calls = callsOf(
      makeWaitingCall({ id: "second", startedAt: 2 }, "b"),
      makeWaitingCall({ id: "first", startedAt: 1, office: "lab" }, "a"),
      makeCall({ id: "unnamed", status: { _tag: "WaitingForConsent", computer: "desk" } }),
      makeCall({ id: "decided", status: decision(true) }),
      makeCall({ id: "running" }),
      makeWaitingCall({ id: "ended", endedAt: startTime, outcome: "cancelled" })
    )
    const found = findOpenApprovals(calls).map(({ approval, call }) => `${call.id} ${approval.id}`)
    assert.deepStrictEqual(found, ["first a", "second b"])
  })

  it("tells apart approvals of one id at several Computers", () => {
    const calls = callsOf(makeWaitingCall({ id: "one" }, "same"), makeWaitingCall({ id: "other" }, "same"))
    assert.strictEqual(new Set(findOpenApprovals(calls).map(({ key }) => key)).size, 2)
  })
})

describe("approvalsOfOffice", () => {
  it("gives the approvals of one office on its line", () => {
    const changes = [{ id: "here" }, { id: "other line", line: "0.4" }, { id: "other office", office: "lab" }]
    const open = findOpenApprovals(callsOf(...changes.map((change) => makeWaitingCall(change))))
    const ids = approvalsOfOffice(open, team).map(({ call }) => call.id)
    assert.deepStrictEqual(ids, ["here"])
  })

  it("counts the approvals of each office, and leaves out the others", () => {
    const lab = { line: "0.4", office: "lab" }
    const calls = callsOf(
      makeWaitingCall({ id: "1" }),
      makeWaitingCall({ id: "2" }),
      makeWaitingCall({ id: "3", ...lab }),
      makeCall({ id: "4", office: "quiet" })
    )
    const offices = [team, lab, { ...team, office: "quiet" }]
    const counts = offices.map((one) => approvalsOfOffice(findOpenApprovals(calls), one).length)
    assert.deepStrictEqual(counts, [2, 1, 0])
  })
})

describe("updateListed", () => {
  /** Lists the approvals after each step. */
  const follow = (...steps: ReadonlyArray<ReadonlyArray<PageCall>>): ReadonlyArray<ListedApproval> =>
    steps.reduce<ReadonlyArray<ListedApproval>>((listed, given) => {
      const calls = callsOf(...given)
      return updateListed(listed, findOpenApprovals(calls), calls)
    }, [])

  const waiting = (id: string, startedAt = 1): PageCall => makeWaitingCall({ id, startedAt })
  const ended = (id: string): PageCall => makeCall({ id, endedAt: startTime, outcome: "4005" })
  const states = (listed: ReadonlyArray<ListedApproval>) =>
    listed.map((one) => `${one.call.id} ${isOpen(one) ? "open" : "closed"}`)

  it("adds a new approval behind the listed ones, also that of an older call", () => {
    const listed = follow([waiting("b", 2)], [waiting("b", 2), waiting("a", 1)])
    assert.deepStrictEqual(states(listed), ["b open", "a open"])
  })

  it("closes an approval in its place, with the call as it ended", () => {
    const listed = follow([waiting("a"), waiting("b")], [ended("a"), waiting("b")])
    assert.deepStrictEqual(states(listed), ["a closed", "b open"])
    assert.strictEqual(listed[0]?.call.outcome, "4005")
  })

  it("keeps the last state of a call that is not known any more", () => {
    const listed = follow([waiting("a")], [])
    assert.deepStrictEqual(states(listed), ["a closed"])
    assert.strictEqual(listed[0]?.call.tool, "write_file")
  })

  it("opens an approval again that only seemed closed", () => {
    assert.deepStrictEqual(states(follow([waiting("a")], [], [waiting("a")])), ["a open"])
  })

  it("lists the next approval of a call as another one", () => {
    const listed = follow([makeWaitingCall({}, "first")], [makeWaitingCall({}, "second")])
    const approvals = listed.map((one) => `${one.approval.id} ${isOpen(one)}`)
    assert.deepStrictEqual(approvals, ["first false", "second true"])
  })

  it("drops the oldest closed approvals, and no open one", () => {
    const ids = Array.from({ length: maxClosedApprovals + 2 }, (_, index) => `call-${index}`)
    const first = waiting("first", 0)
    const listed = follow([first, ...ids.map((id) => waiting(id))], [first, ...ids.map(ended)])
    assert.deepStrictEqual(states(listed), ["first open", ...ids.slice(2).map((id) => `${id} closed`)])
  })

  it("gives the same list again without a change", () => {
    const calls = callsOf(waiting("a"))
    const open = findOpenApprovals(calls)
    const once = updateListed([], open, calls)
    assert.deepStrictEqual(updateListed(once, open, calls), once)
  })
})

describe("findDecidedCalls", () => {
  const call = (changes: Partial<PageCall>): PageEvent => ({ _tag: "Call", call: makeCall(changes) })

  it("gives running and ended calls with a decision, the latest decision first", () => {
    const state = [
      makeSnapshot({ calls: [makeWaitingCall({ id: "late" }), makeWaitingCall({ id: "early" })] }),
      makeBatch([call({ id: "early", status: decision(true), decision: decision(true) })], { at: startTime + 1_000 }),
      makeBatch([call({ id: "late", decision: decision(false), endedAt: startTime + 2_000, outcome: "4005" })]),
      makeBatch([call({ id: "early", decision: decision(true), endedAt: startTime + 9_000, outcome: "ok" })])
    ].reduce(applyMessage, initialState)
    assert.deepStrictEqual(
      findDecidedCalls(state.calls, team).map(({ at, call: { id }, decision: { isAllowed } }) => [id, isAllowed, at]),
      [
        ["late", false, startTime + 2_000],
        ["early", true, startTime + 1_000]
      ]
    )
  })

  it("gives the start of a call whose wait the page has not seen", () => {
    const calls = callsOf(makeCall({ startedAt: 7, decision: decision(true) }))
    assert.strictEqual(findDecidedCalls(calls, team)[0]?.at, 7)
  })

  it("leaves out other offices, other lines, and calls without a decision", () => {
    const calls = callsOf(
      makeCall({ id: "1", office: "lab", decision: decision(true) }),
      makeCall({ id: "2", line: "0.4", decision: decision(true) }),
      makeCall({ id: "3" })
    )
    assert.deepStrictEqual(findDecidedCalls(calls, team), [])
  })

  it("gives a bounded number", () => {
    const calls = Array.from({ length: maxDecidedCalls + 5 }, (_, index) =>
      makeCall({ id: String(index), startedAt: index, decision: decision(true) })
    )
    const found = findDecidedCalls(callsOf(...calls), team)
    assert.deepStrictEqual([found.length, found[0]?.call.id], [maxDecidedCalls, String(maxDecidedCalls + 4)])
  })
})
