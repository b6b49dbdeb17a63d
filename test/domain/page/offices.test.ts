import { assert, describe, it } from "@effect/vitest"
import { findPageOffice, listOffices } from "../../../src/domain/page/offices.ts"
import type { PageEvent } from "../../../src/domain/page/PageEvent.ts"
import { applyMessage, historySeconds, initialState, type PageState } from "../../../src/domain/page/PageState.ts"
import { agent, makeBatch, makeMember, makeSnapshot, startTime, team } from "../../page/scripted/pageFixtures.ts"

const activity = (at: number, calls: number, failed: number, node = "n1"): PageEvent => ({
  _tag: "Activity",
  at,
  offices: [{ ...team, node, calls, failed }]
})

const stateWith = (at: number, ...events: ReadonlyArray<PageEvent>): PageState =>
  [makeSnapshot(), makeBatch(events, { at })].reduce(applyMessage, initialState)

const stateOf = (...members: ReadonlyArray<ReturnType<typeof makeMember>>): PageState =>
  applyMessage(initialState, makeSnapshot({ members }))

describe("listOffices", () => {
  it("separates offices of one id on different lines, and sorts them", () => {
    const [later, lab] = [makeMember({ sid: "a", line: "0.4" }), makeMember({ sid: "b", office: "lab" })]
    const state = stateOf(later, lab, makeMember({ sid: "c" }), agent)
    const rows = listOffices(state).map(({ agents, computers, line, office }) =>
      [office, line, agents.length, computers.length].join(" ")
    )
    assert.deepStrictEqual(rows, ["lab 0.2 0 1", "team 0.2 1 1", "team 0.4 0 1"])
  })

  it("gives no office without members", () => {
    assert.deepStrictEqual(listOffices(stateOf()), [])
  })

  it("gives the calls of the latest second, and the failures of the minute", () => {
    const state = stateWith(startTime + 1_000, activity(startTime, 4, 1), activity(startTime + 1_000, 7, 2))
    const [office, ...others] = listOffices(state)
    assert.deepStrictEqual([office?.callsPerSecond, office?.failed, others], [7, 3, []])
  })

  it("adds the activity of the nodes in the same second", () => {
    const [office] = listOffices(stateWith(startTime, activity(startTime, 3, 1), activity(startTime, 3, 1, "n2")))
    assert.deepStrictEqual([office?.callsPerSecond, office?.failed], [6, 2])
  })

  it("gives no calls per second when the latest activity is older", () => {
    const [office] = listOffices(stateWith(startTime + 5_000, activity(startTime, 4, 0)))
    assert.strictEqual(office?.callsPerSecond, 0)
  })

  it("gives the history up to now, the oldest second first", () => {
    const [office] = listOffices(stateWith(startTime + 2_000, activity(startTime, 4, 0)))
    assert.strictEqual(office?.history.length, historySeconds)
    assert.deepStrictEqual(office?.history.slice(-3), [4, 0, 0])
  })
})

describe("findOffice", () => {
  it("gives an office without members when the last one has left", () => {
    const { agents, computers } = findPageOffice(initialState, team)
    assert.deepStrictEqual([agents, computers], [[], []])
  })

  it("sorts Computers by name", () => {
    const members = ["lab", "desk"].map((name) => makeMember({ sid: name, name }))
    const { computers } = findPageOffice(stateOf(...members), team)
    assert.deepStrictEqual(computers, members.toReversed())
  })
})
