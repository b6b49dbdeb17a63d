import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { PageEvent, PageMessage } from "../../../src/domain/page/PageEvent.ts"
import {
  applyMessage,
  computerKey,
  historySeconds,
  initialState,
  maxCalls,
  maxLostNodes,
  maxPhases,
  maxRejections,
  partKey,
  type PageState
} from "../../../src/domain/page/PageState.ts"
import {
  agent,
  makeBatch,
  makeCall,
  makeInspection,
  makeMember,
  makeNode,
  makeSnapshot,
  startTime,
  team
} from "../../page/scripted/pageFixtures.ts"

const applyAll = (...messages: ReadonlyArray<PageMessage>): PageState => messages.reduce(applyMessage, initialState)

/** The state after a snapshot and a batch of events. */
const after = (...events: ReadonlyArray<PageEvent>): PageState => applyAll(makeSnapshot(), makeBatch(events))

const callEvent = (changes: Parameters<typeof makeCall>[0]): PageEvent => ({ _tag: "Call", call: makeCall(changes) })

const rejected = (reason: string): PageEvent => ({
  _tag: "Rejected",
  node: "n1",
  at: startTime,
  what: "connection",
  reason
})

const inspected: PageEvent = { _tag: "Inspected", ...team, computer: "desk", inspection: makeInspection() }

const left = (sid: string): PageEvent => ({ _tag: "Left", sid, at: startTime })

const nodeLost = (node: string): PageEvent => ({ _tag: "NodeLost", node, at: startTime })

const endedNow = { endedAt: startTime, outcome: "ok" } as const

const updated: PageEvent = { _tag: "Updated", ...team, computer: "desk", part: "toolList", at: startTime }

const activity = (node: string): PageEvent => ({
  _tag: "Activity",
  at: startTime,
  offices: [{ ...team, node, calls: 3, failed: 1 }]
})

describe("applyMessage", () => {
  it("takes members, calls and nodes from a snapshot", () => {
    const state = applyAll(makeSnapshot({ calls: [makeCall()], omittedMembers: 3 }))
    assert.deepStrictEqual([...state.members.keys()], ["sid-desk", "sid-brain"])
    assert.deepStrictEqual([...state.calls.keys()], ["call-1"])
    assert.deepStrictEqual([...state.nodes.values()], [makeNode()])
    assert.strictEqual(state.omittedMembers, 3)
  })

  it("keeps rejections when a new stream starts", () => {
    const state = applyAll(makeSnapshot(), makeBatch([rejected("full")]), makeSnapshot({ stream: "stream-2" }))
    const reasons = state.rejections.map(({ reason }) => reason)
    assert.deepStrictEqual(reasons, ["full"])
  })

  it("drops members that left during the interruption of a stream", () => {
    const state = applyAll(makeSnapshot(), makeSnapshot({ stream: "stream-2", members: [agent] }))
    assert.deepStrictEqual([...state.members.keys()], ["sid-brain"])
  })

  it("adds a member that enters", () => {
    const state = after({ _tag: "Entered", member: makeMember({ sid: "sid-lab", name: "lab" }) })
    assert.isTrue(state.members.has("sid-lab"))
  })

  it("forgets the state of a Computer that leaves", () => {
    const state = after(inspected, updated, left("sid-desk"))
    assert.deepStrictEqual([state.members.has("sid-desk"), state.inspections.size, state.updates.size], [false, 0, 0])
  })

  it("keeps the state of a Computer when an Agent leaves", () => {
    const state = after(inspected, left("sid-brain"))
    assert.isTrue(state.inspections.has(computerKey(team, "desk")))
  })

  it("removes the members and the running calls of a lost node", () => {
    const state = after(
      { _tag: "Entered", member: makeMember({ sid: "sid-far", node: "n2", name: "far" }) },
      callEvent({ id: "far", node: "n2" }),
      callEvent({ id: "ended", node: "n2", ...endedNow }),
      callEvent({ id: "near" }),
      nodeLost("n2")
    )
    assert.deepStrictEqual([...state.members.keys()], ["sid-desk", "sid-brain"])
    assert.deepStrictEqual([...state.calls.keys()], ["ended", "near"])
  })

  it("shows a lost node as unavailable, and again as it reports when it returns", () => {
    const far = makeNode({ node: "n2", connections: 5 })
    const reported: PageEvent = { _tag: "Node", node: far }
    const lost = after(reported, nodeLost("n2")).nodes.get("n2")
    assert.deepStrictEqual([lost?.state, lost?.connections, lost?.latency], ["unavailable", 0, undefined])
    assert.deepStrictEqual(after(reported, nodeLost("n2"), reported).nodes.get("n2"), far)
  })

  it("keeps the latest lost nodes", () => {
    const names = Array.from({ length: maxLostNodes + 2 }, (_, index) => `lost-${index}`)
    const state = after(
      { _tag: "Node", node: makeNode() },
      ...names.map((node): PageEvent => ({ _tag: "Node", node: makeNode({ node }) })),
      ...names.map(nodeLost)
    )
    assert.deepStrictEqual([...state.nodes.keys()], ["n1", ...names.slice(2)])
  })

  it("replaces what is known of a call", () => {
    const state = after(callEvent({}), callEvent(endedNow))
    assert.strictEqual(state.calls.get("call-1")?.call.outcome, "ok")
  })

  it("records when a call changes its phase", () => {
    const waiting = { _tag: "WaitingForConsent", computer: "desk" } as const
    const progressing = { _tag: "Progressing", computer: "desk", progress: 1 } as const
    const state = applyAll(
      makeSnapshot({ calls: [makeCall()] }),
      makeBatch([callEvent({ status: waiting })], { at: startTime + 1_000 }),
      makeBatch([callEvent({ status: waiting })], { at: startTime + 2_000 }),
      makeBatch([callEvent({ status: progressing })], { at: startTime + 3_000 }),
      makeBatch([callEvent({ endedAt: startTime + 3_500, outcome: "ok" })], { at: startTime + 4_000 })
    )
    assert.deepStrictEqual(state.calls.get("call-1")?.phases, [
      { phase: "running", at: startTime - 1_000 },
      { phase: "consent", at: startTime + 1_000 },
      { phase: "running", at: startTime + 3_000 },
      { phase: "done", at: startTime + 3_500 }
    ])
  })

  it("bounds the phases of a call, and keeps the last one", () => {
    const phases = Array.from({ length: 100 }, (_, index) =>
      callEvent(index % 2 === 0 ? {} : { status: { _tag: "WaitingForConsent", computer: "desk" } })
    )
    const state = after(...phases, callEvent(endedNow))
    const kept = state.calls.get("call-1")?.phases ?? []
    assert.deepStrictEqual([kept.length, kept.at(-1)?.phase], [maxPhases, "done"])
  })

  it("removes the oldest ended call first when there are too many", () => {
    const calls = Array.from({ length: maxCalls }, (_, index) =>
      callEvent({ id: `call-${index}`, ...(index > 0 && endedNow) })
    )
    const state = after(...calls, callEvent({ id: "new" }))
    const kept = ["call-0", "call-1", "call-2", "new"].filter((id) => state.calls.has(id))
    assert.deepStrictEqual(kept, ["call-0", "call-2", "new"])
  })

  it("removes the oldest running call when all calls run", () => {
    const calls = Array.from({ length: maxCalls + 1 }, (_, index) => callEvent({ id: `call-${index}` }))
    const state = after(...calls)
    assert.deepStrictEqual([state.calls.size, state.calls.has("call-0")], [maxCalls, false])
  })

  it("keeps the latest rejections, the last one first", () => {
    const state = after(...Array.from({ length: maxRejections + 5 }, (_, index) => rejected(String(index))))
    const [latest] = state.rejections
    assert.deepStrictEqual([state.rejections.length, latest?.reason], [maxRejections, String(maxRejections + 4)])
  })

  it("forgets activity after a minute", () => {
    const state = after(activity("n1"), { _tag: "Activity", at: startTime + historySeconds * 1000, offices: [] })
    assert.deepStrictEqual(state.activity, [])
  })

  it("counts the updates of a part", () => {
    assert.strictEqual(after(updated, updated).updates.get(partKey(team, "desk", "toolList")), 2)
  })

  it("adds up what the Server left out", () => {
    const state = applyAll(
      makeSnapshot(),
      makeBatch([], { omittedCalls: 2, droppedEvents: 1 }),
      makeBatch([], { omittedCalls: 3, droppedEvents: 4 })
    )
    assert.deepStrictEqual([state.omittedCalls, state.droppedEvents], [5, 5])
  })

  it("ignores events that it does not know", () => {
    const unknown = JSON.parse('{"_tag":"Later"}') as PageEvent
    assert.strictEqual(after(unknown).members.size, 2)
  })

  it("leaves the given state unchanged", () => {
    const state = applyAll(makeSnapshot({ calls: [makeCall()] }))
    const copy = structuredClone(state)
    applyMessage(
      state,
      makeBatch([
        left("sid-desk"),
        callEvent(endedNow),
        updated,
        rejected("full"),
        { _tag: "Node", node: makeNode({ state: "draining" }) },
        inspected,
        activity("n1")
      ])
    )
    assert.deepStrictEqual(state, copy)
  })

  it("shares the parts that a batch does not change", () => {
    const before = applyAll(makeSnapshot())
    const next = applyMessage(before, makeBatch([updated]))
    assert.strictEqual(next.members, before.members)
    assert.strictEqual(next.calls, before.calls)
  })

  it.prop(
    "never keeps more calls than its bound, and every running one while there are fewer",
    [Schema.Array(Schema.Struct({ id: Schema.Natural, ends: Schema.Boolean }))],
    ([steps]) => {
      const events = steps.map(({ ends, id }) => callEvent({ id: `call-${id}`, ...(ends && endedNow) }))
      const state = after(...events)
      assert.strictEqual(state.calls.size, new Set(steps.map(({ id }) => id)).size)
      assert.isAtMost(state.calls.size, maxCalls)
    }
  )
})
