import { assert, describe, it } from "@effect/vitest"
import { Option, Schema } from "effect"
import {
  emptyOffice,
  type Member,
  type Office,
  occupant,
  occupants
} from "../../../src/domain/office/membership.ts"
import {
  difference,
  follow,
  listed,
  move,
  type Move,
  noView,
  type Step,
  type View,
  viewOf
} from "../../../src/domain/office/view.ts"

const Sid = Schema.Literals(["1", "2", "3", "4", "5", "6"])
const Attempts = Schema.Array(
  Schema.Struct({
    sid: Sid,
    role: Schema.Literals(["agent", "computer"]),
    name: Schema.Literals(["x", "y", "__proto__"]),
    heard: Schema.Boolean
  })
)

const member = (sid: string, role: "agent" | "computer", name: string, since: number): Member => ({
  sid,
  node: "n",
  version: "0.2.0",
  seat: { office: "O", role, name },
  since
})

/** What a registry does with attempts: who sits leaves, who does not takes a free seat. */
const history = (attempts: typeof Attempts.Type) => {
  let office = emptyOffice
  let revision = 0
  const steps: Array<Step & { readonly heard: boolean }> = []
  for (const { heard, name, role, sid } of attempts) {
    const sitting = occupants(office).find((one) => one.sid === sid)
    const what: Move =
      sitting === undefined
        ? { _tag: "Entered", member: member(sid, role, name, revision + 1) }
        : { _tag: "Left", sid, seat: sitting.seat, replaced: false }
    if (what._tag === "Entered" && Option.isSome(occupant(office, what.member.seat))) continue
    office = move(office, what)
    steps.push({ from: revision, to: ++revision, move: what, heard })
  }
  return { office, revision, steps }
}

const sids = (office: Office) =>
  occupants(office)
    .map(({ sid }) => sid)
    .toSorted()
const apply = (office: Office, moves: ReadonlyArray<Move>) => moves.reduce(move, office)
const followed = (view: View, step: Step): View => {
  const next = follow(view, step)
  return typeof next === "string" ? view : next
}

describe("a view of an office", () => {
  it.prop("shows what happened when every step was heard", [Attempts], ([attempts]) => {
    const { office, revision, steps } = history(attempts)
    const view = steps.reduce(followed, noView)
    assert.deepStrictEqual([sids(view.office), view.revision], [sids(office), revision])
  })

  it.prop("steps that are heard again change nothing", [Attempts], ([attempts]) => {
    const { steps } = history(attempts)
    const view = steps.reduce(followed, noView)
    for (const step of steps) assert.strictEqual(follow(view, step), "known")
  })

  it.prop("a step after one that was not heard says so", [Attempts], ([attempts]) => {
    const { steps } = history(attempts)
    const first = steps.findIndex(({ heard }) => !heard)
    const view = steps.slice(0, first === -1 ? steps.length : first).reduce(followed, noView)
    if (first !== -1) {
      for (const step of steps.slice(first + 1)) assert.strictEqual(follow(view, step), "missed")
    }
  })

  it.prop("the difference leads from what was known to a snapshot", [Attempts, Attempts], ([some, more]) => {
    const before = history(some).office
    const after = history(more).office
    const moves = difference(before, after)
    assert.deepStrictEqual(sids(apply(before, moves)), sids(after))
    const moved = moves.map((one) => (one._tag === "Entered" ? one.member.sid : one.sid))
    const unmoved = sids(before).filter((sid) => !moved.includes(sid))
    for (const sid of unmoved) assert.include(sids(after), sid)
    assert.deepStrictEqual(difference(before, before), [])
  })

  it.prop(
    "the difference names those who have gone before those who came in their order",
    [Attempts, Attempts],
    ([some, more]) => {
      const moves = difference(history(some).office, history(more).office)
      const tags = moves.map(({ _tag }) => _tag)
      assert.isTrue(
        tags.lastIndexOf("Left") < tags.indexOf("Entered") ||
          !tags.includes("Entered") ||
          !tags.includes("Left")
      )
      const arrivals = moves.flatMap((one) => (one._tag === "Entered" ? [one.member.since] : []))
      assert.deepStrictEqual(
        arrivals,
        arrivals.toSorted((one, other) => one - other)
      )
    }
  )

  it.prop("a snapshot is followed by what comes after it", [Attempts], ([attempts]) => {
    const { office, steps } = history(attempts)
    const half = Math.floor(steps.length / 2)
    const middle = apply(
      emptyOffice,
      steps.slice(0, half).map((step) => step.move)
    )
    const snapshot = viewOf({ asOf: half, revision: half, members: occupants(middle) })
    assert.deepStrictEqual(sids(steps.reduce(followed, snapshot).office), sids(office))
  })

  it("what is older than a snapshot is in it, though the office has not changed since", () => {
    const view = viewOf({ asOf: 9, revision: 4, members: [member("1", "agent", "x", 4)] })
    const left: Move = { _tag: "Left", sid: "1", seat: member("1", "agent", "x", 4).seat, replaced: false }
    assert.strictEqual(follow(view, { from: 4, to: 8, move: left }), "known")
    assert.notStrictEqual(follow(view, { from: 4, to: 10, move: left }), "known")
  })

  it("nobody leaves for another who has the same seat by now", () => {
    const office = move(emptyOffice, { _tag: "Entered", member: member("2", "computer", "x", 2) })
    const late: Move = { _tag: "Left", sid: "1", seat: member("1", "computer", "x", 1).seat, replaced: false }
    assert.strictEqual(move(office, late), office)
  })

  it("lists the Agent first, then the Computers in the order of their arrival", () => {
    const members = [
      member("1", "computer", "x", 3),
      member("2", "computer", "y", 1),
      member("3", "agent", "z", 2)
    ]
    assert.deepStrictEqual(
      listed(viewOf({ asOf: 3, revision: 3, members }).office).map(({ sid }) => sid),
      ["3", "2", "1"]
    )
  })
})
