import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { addMissed, missedNotices, nothingMissed } from "../../../src/domain/office/missed.ts"
import { type Notice, parts } from "../../../src/domain/office/notice.ts"

const computer = (name: string) => ({ office: "o", role: "computer", name }) as const
const entered = (name: string): Notice => ({ _tag: "Entered", seat: computer(name) })
const left = (name: string): Notice => ({ _tag: "Left", seat: computer(name) })
const desktop = (name: string): Notice => ({ _tag: "Updated", part: "desktop", computer: name })

const reduced = (...notices: ReadonlyArray<Notice>): ReadonlyArray<Notice> => {
  const missed = nothingMissed()
  for (const notice of notices) addMissed(missed, notice)
  assert.strictEqual(missed.size, missedNotices(missed).length)
  return missedNotices(missed)
}

/** What an Agent knows: each Computer, and a number for each part that says which state of it was fetched last. */
type View = Map<string, Map<string, number>>

/** An Agent that fetches a part when it is told that it changed, and all parts of who comes. */
const hear = (view: View, notice: Notice, truth: View): void => {
  if (notice._tag === "Left") view.delete(notice.seat.name)
  if (notice._tag === "Entered") view.set(notice.seat.name, new Map(truth.get(notice.seat.name)))
  if (notice._tag === "Updated") {
    const state = truth.get(notice.computer)?.get(notice.part)
    if (state !== undefined) view.get(notice.computer)?.set(notice.part, state)
  }
}

const Step = Schema.Struct({
  name: Schema.Literals(["a", "b", "c"]),
  part: Schema.Literals([...parts]),
  moves: Schema.Boolean
})

describe("what was missed", () => {
  it("is an update once", () => {
    assert.deepStrictEqual(reduced(desktop("a"), desktop("b"), desktop("a")), [desktop("a"), desktop("b")])
  })

  it("is nothing of who came and went", () => {
    assert.deepStrictEqual(reduced(entered("a"), desktop("a"), left("a")), [])
  })

  it("is both of who left and came back, since it may be another", () => {
    assert.deepStrictEqual(reduced(left("a"), entered("a")), [left("a"), entered("a")])
    assert.deepStrictEqual(reduced(left("a"), entered("a"), left("a")), [left("a")])
  })

  it("is every cancellation once", () => {
    const cancelled: Notice = { _tag: "Cancelled", agent: "x", reqId: "1" }
    assert.deepStrictEqual(reduced(cancelled, cancelled), [cancelled])
  })

  it("keeps a cancellation apart from a member, whatever both are called", () => {
    const gone: Notice = { _tag: "Left", seat: { office: "o", role: "agent", name: "cancelled" } }
    const cancelled: Notice = { _tag: "Cancelled", agent: "agent", reqId: "o" }
    assert.deepStrictEqual(reduced(gone, cancelled), [gone, cancelled])
  })

  it("has no updates of who has left", () => {
    assert.deepStrictEqual(reduced(desktop("a"), left("a")), [left("a")])
  })

  it.prop(
    "gives the same view as every notice would have, and is bounded by what there is",
    [Schema.Array(Step), Schema.Array(Step)],
    ([earlier, later]) => {
      const truth: View = new Map()
      let state = 0
      const happen = ({ moves, name, part }: typeof Step.Type): Notice | undefined => {
        state += 1
        if (moves && truth.delete(name)) return left(name)
        if (moves) {
          truth.set(name, new Map(parts.map((one) => [one, state])))
          return entered(name)
        }
        truth.get(name)?.set(part, state)
        return truth.has(name) ? { _tag: "Updated", part, computer: name } : undefined
      }
      const view: View = new Map()
      for (const step of earlier) {
        const notice = happen(step)
        if (notice !== undefined) hear(view, notice, truth)
      }
      const missed = nothingMissed()
      for (const step of later) {
        const notice = happen(step)
        if (notice !== undefined) addMissed(missed, notice)
      }
      const notices = missedNotices(missed)
      assert.isAtMost(notices.length, 3 * (2 + parts.length))
      for (const notice of notices) hear(view, notice, truth)
      const sorted = (one: View) => [...one].sort(([a], [b]) => (a < b ? -1 : 1))
      assert.deepStrictEqual(sorted(view), sorted(truth))
    },
    { arbitrary: { runs: 500, size: 60 } }
  )
})
