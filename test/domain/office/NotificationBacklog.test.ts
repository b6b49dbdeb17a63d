import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { NotificationBacklog } from "../../../src/domain/office/NotificationBacklog.ts"
import { type Notification, computerParts } from "../../../src/domain/model/Notification.ts"

const computer = (name: string) => ({ office: "o", role: "computer", name }) as const
const entered = (name: string): Notification => ({ _tag: "Entered", membership: computer(name) })
const left = (name: string): Notification => ({ _tag: "Left", membership: computer(name) })
const desktop = (name: string): Notification => ({ _tag: "Updated", part: "desktop", computer: name })

/** Two bytes for each character of the keys, and 256 for each notification. */
const approximateBytes = ({ entries }: NotificationBacklog): number =>
  [...entries].reduce((sum, [key, kept]) => sum + 2 * key.length + 256 * kept.length, 0)

const reduced = (...notifications: ReadonlyArray<Notification>): ReadonlyArray<Notification> => {
  const missed = new NotificationBacklog()
  for (const notification of notifications) missed.add(notification)
  assert.strictEqual(missed.size, missed.list().length)
  assert.strictEqual(missed.bytes, approximateBytes(missed))
  return missed.list()
}

/** An Agent's view: for each Computer the version of each part that it fetched last. */
type View = Map<string, Map<string, number>>

/** Simulates an Agent that fetches a part on its update, and all parts of a Computer that joins. */
const receive = (view: View, notification: Notification, truth: View): void => {
  if (notification._tag === "Left") view.delete(notification.membership.name)
  if (notification._tag === "Entered")
    view.set(notification.membership.name, new Map(truth.get(notification.membership.name)))
  if (notification._tag === "Updated") {
    const state = truth.get(notification.computer)?.get(notification.part)
    if (state !== undefined) view.get(notification.computer)?.set(notification.part, state)
  }
}

const Step = Schema.Struct({
  name: Schema.Literals(["a", "b", "c"]),
  part: Schema.Literals([...computerParts]),
  moves: Schema.Boolean
})

describe("NotificationBacklog", () => {
  const cancelled = (agent: string, reqId: string): Notification => ({ _tag: "Cancelled", agent, reqId })
  const agentLeft = (name: string): Notification => ({ _tag: "Left", membership: { office: "o", role: "agent", name } })

  it.each<[string, ReadonlyArray<Notification>, ReadonlyArray<Notification>]>([
    ["a repeated update once", [desktop("a"), desktop("b"), desktop("a")], [desktop("a"), desktop("b")]],
    ["nothing of a join that is followed by a leave", [entered("a"), desktop("a"), left("a")], []],
    ["a leave and a later join, of maybe another member", [left("a"), entered("a")], [left("a"), entered("a")]],
    ["one leave of two around a join", [left("a"), entered("a"), left("a")], [left("a")]],
    ["a repeated join once", [entered("a"), entered("a")], [entered("a")]],
    ["a repeated leave once", [left("a"), left("a")], [left("a")]],
    [
      "the updates of a Computer when an Agent of the same name leaves",
      [desktop("a"), agentLeft("a")],
      [desktop("a"), agentLeft("a")]
    ],
    [
      "the cancellation of each call of each Agent once",
      [cancelled("ada", "1"), cancelled("eve", "1"), cancelled("ada", "2"), cancelled("ada", "1")],
      [cancelled("eve", "1"), cancelled("ada", "2"), cancelled("ada", "1")]
    ],
    [
      "cancellations apart from members with the same names",
      [agentLeft("cancelled"), cancelled("agent", "o")],
      [agentLeft("cancelled"), cancelled("agent", "o")]
    ]
  ])("keeps %s", (_, given, kept) => {
    assert.deepStrictEqual(reduced(...given), kept)
  })

  it.each(computerParts)("drops an update of the part %s before a join or a leave", (part) => {
    const updated: Notification = { _tag: "Updated", part, computer: "a" }
    const other: Notification = { _tag: "Updated", part, computer: "b" }
    for (const move of [entered("a"), left("a")]) assert.deepStrictEqual(reduced(updated, other, move), [other, move])
  })

  it("holds no entry of a join that is followed by a leave", () => {
    const backlog = new NotificationBacklog()
    for (const notification of [entered("a"), left("a")]) backlog.add(notification)
    assert.strictEqual(backlog.entries.size, 0)
  })

  it.prop(
    "gives the same view as all notifications, and is bounded by the office",
    [Schema.Array(Step), Schema.Array(Step)],
    ([earlier, later]) => {
      const truth: View = new Map()
      let state = 0
      const happen = ({ moves, name, part }: typeof Step.Type): Notification | undefined => {
        state += 1
        if (moves && truth.delete(name)) return left(name)
        if (moves) {
          truth.set(name, new Map(computerParts.map((one) => [one, state])))
          return entered(name)
        }
        truth.get(name)?.set(part, state)
        return truth.has(name) ? { _tag: "Updated", part, computer: name } : undefined
      }
      const view: View = new Map()
      for (const step of earlier) {
        const notification = happen(step)
        if (notification !== undefined) receive(view, notification, truth)
      }
      const missed = new NotificationBacklog()
      for (const step of later) {
        const notification = happen(step)
        if (notification !== undefined) missed.add(notification)
      }
      const notifications = missed.list()
      assert.isAtMost(notifications.length, 3 * (2 + computerParts.length))
      for (const notification of notifications) receive(view, notification, truth)
      const sorted = (one: View) => [...one].sort(([a], [b]) => (a < b ? -1 : 1))
      assert.deepStrictEqual(sorted(view), sorted(truth))
    },
    { arbitrary: { runs: 500, size: 60 } }
  )
})
