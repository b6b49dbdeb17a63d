import { assert, describe, it } from "@effect/vitest"
import { drawOffice, maxDrawn } from "../../../src/domain/page/officePicture.ts"
import { findPageOffice } from "../../../src/domain/page/offices.ts"
import type { Inspection } from "../../../src/domain/page/Inspection.ts"
import type { PageCall, PageMember } from "../../../src/domain/page/PageEvent.ts"
import { applyMessage, initialState } from "../../../src/domain/page/PageState.ts"
import {
  agent,
  makeBatch,
  makeCall,
  makeInspection,
  makeMember,
  makeSnapshot,
  makeWaitingCall,
  startTime,
  team
} from "../../page/scripted/pageFixtures.ts"

interface Office {
  readonly members?: ReadonlyArray<PageMember>
  readonly calls?: ReadonlyArray<PageCall>
  readonly inspection?: Inspection
}

const draw = ({ calls = [], inspection, members = [agent, makeMember()] }: Office) => {
  const snapshot = applyMessage(initialState, makeSnapshot({ members, calls }))
  const inspected =
    inspection === undefined ? [] : [{ _tag: "Inspected" as const, ...team, computer: "desk", inspection }]
  const state = applyMessage(snapshot, makeBatch(inspected, { at: startTime }))
  return drawOffice(state, findPageOffice(state, team), startTime)
}

const ended = (outcome: string, age: number): PageCall =>
  makeCall({ id: `${outcome} ${age}`, endedAt: startTime - age, outcome })

const serversOf = (count: number, state: "ready" | "failed") =>
  Array.from({ length: count }, (_, index) => ({
    name: `${state} ${index}`,
    state,
    since: startTime,
    restarts: 0,
    tools: 0,
    windows: 0
  }))

describe("drawOffice", () => {
  it("counts the calls that run and wait at their Agent and their Computer", () => {
    const { agents, computers } = draw({ calls: [makeCall(), makeWaitingCall({ id: "2" })] })
    for (const node of [...agents, ...computers]) assert.deepInclude(node, { running: 1, waiting: 1 })
  })

  it("moves a call for a moment after its end", () => {
    const [desk] = draw({ calls: [ended("ok", 2_000), ended("ok", 2_001)] }).computers
    assert.strictEqual(desk?.ended, 1)
  })

  it("shows a failed call longer, and neither denied nor cancelled ones", () => {
    const decision = { _tag: "Decided", computer: "desk", isAllowed: false, by: "operator:ann" } as const
    const denied = { ...ended("4005", 0), decision }
    const calls = [ended("tool_error", 10_000), ended("tool_error", 10_001), ended("cancelled", 0), denied]
    assert.strictEqual(draw({ calls }).computers[0]?.failed, 1)
  })

  it("ignores requests for lists, and the calls of other offices", () => {
    const { tool: _tool, ...listing } = makeCall({ id: "list" })
    const [desk] = draw({ calls: [listing, makeCall({ id: "2", office: "lab" })] }).computers
    assert.deepInclude(desk, { running: 0, waiting: 0 })
  })

  it("draws MCP servers, devices and packs with the tones of their states", () => {
    const [desk] = draw({ inspection: makeInspection() }).computers
    assert.deepStrictEqual(desk?.parts, [
      { kind: "server", name: "notes", state: "ready", tone: "good" },
      { kind: "server", name: "files", state: "failing", tone: "bad" },
      { kind: "device", name: "lamp", state: "connected", tone: "good" }
    ])
    assert.strictEqual(desk?.tone, "bad")
  })

  it("gives a Computer with a waiting call the tone of the call, unless a part fails", () => {
    assert.strictEqual(draw({ calls: [makeWaitingCall()] }).computers[0]?.tone, "waiting")
    assert.strictEqual(draw({ calls: [makeWaitingCall()], inspection: makeInspection() }).computers[0]?.tone, "bad")
  })

  it("puts the parts that do well into one node when there are many", () => {
    const servers = [...serversOf(24, "ready"), ...serversOf(1, "failed")]
    const [desk] = draw({ inspection: makeInspection({ servers, parts: [] }) }).computers
    assert.deepStrictEqual(desk?.parts, [
      { kind: "server", name: "failed 0", state: "failed", tone: "bad" },
      { kind: "several", name: "24 more", state: "ready", tone: "good" }
    ])
  })

  it("draws of many Computers those that need attention or have calls, and lists the others", () => {
    const members = Array.from({ length: 200 }, (_, index) => {
      const name = `c${String(index).padStart(3, "0")}`
      return makeMember({ sid: name, name })
    })
    const calls = [makeCall({ computer: "c150" }), makeWaitingCall({ id: "2", computer: "c199" })]
    const { computers, others } = draw({ members, calls })
    const namesOf = (nodes: ReadonlyArray<{ readonly member: PageMember }>) => nodes.map(({ member }) => member.name)
    assert.deepStrictEqual(namesOf(computers).slice(0, 3), ["c199", "c150", "c000"])
    assert.strictEqual(computers.length, maxDrawn)
    assert.deepStrictEqual(namesOf(others).slice(0, 1), ["c010"])
    assert.strictEqual(others.length, 200 - maxDrawn)
  })
})
