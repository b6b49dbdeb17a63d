import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { maxTimeoutSeconds } from "../../../src/domain/model/fields.ts"
import {
  type RoutedCallCommand,
  type CallEnd,
  type RoutedCallEvent,
  callInFlight,
  type RoutedCallState,
  callTransition
} from "../../../src/domain/office/callLifecycle.ts"

const maxMillis = maxTimeoutSeconds * 1000
const ended: RoutedCallState = { _tag: "Ended" }
const extended: RoutedCallState = { _tag: "InFlight", addedMillis: 2000, leftMillis: 5000 }

const ends: ReadonlyArray<readonly [CallEnd, ReadonlyArray<RoutedCallCommand>]> = [
  ["Replied", ["Release", "Report", "Reply"]],
  ["Failed", ["Release", "Report", "CancelAtComputer", "Reply"]],
  ["Aborted", ["DropRequest", "Release", "Report", "CancelAtComputer", "Reply"]],
  ["Abandoned", ["DropRequest", "Release", "Report", "CancelAtComputer"]]
]

describe("the life of a call at a Server", () => {
  it("begins without an extension, of which an hour is possible", () => {
    assert.deepStrictEqual(callInFlight, { _tag: "InFlight", addedMillis: 0, leftMillis: maxMillis })
  })

  it.each(ends.flatMap((row) => [callInFlight, extended].map((state) => [...row, state] as const)))(
    "ends when it is %s, with %j, from %j",
    (_tag, commands, state) => {
      assert.deepStrictEqual(callTransition(state, { _tag }), [ended, commands])
    }
  )

  const extensions: ReadonlyArray<readonly [RoutedCallEvent, RoutedCallState, RoutedCallState]> = [
    [{ _tag: "Extended", millis: 300 }, callInFlight, { ...extended, addedMillis: 300, leftMillis: maxMillis - 300 }],
    [{ _tag: "Extended", millis: 300 }, extended, { ...extended, addedMillis: 2300, leftMillis: 4700 }],
    [{ _tag: "Extended", millis: 5001 }, extended, { ...extended, addedMillis: 7000, leftMillis: 0 }],
    [{ _tag: "TimerRang" }, extended, { ...extended, addedMillis: 0 }],
    [{ _tag: "TimerRang" }, callInFlight, callInFlight]
  ]
  it.each(extensions)("goes on after %j from %j", (event, state, next) => {
    assert.deepStrictEqual(callTransition(state, event), [next, []])
  })

  it.each<RoutedCallEvent>([
    ...ends.map(([_tag]) => ({ _tag })),
    { _tag: "Extended", millis: 1 },
    { _tag: "TimerRang" }
  ])("has no effect after its end: %j", (event) => {
    assert.deepStrictEqual(callTransition(ended, event), [ended, []])
  })

  const Event = Schema.Union([
    Schema.Struct({ _tag: Schema.Literals(["Replied", "Failed", "Aborted", "Abandoned", "TimerRang"]) }),
    Schema.Struct({
      _tag: Schema.Literal("Extended"),
      millis: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: maxMillis }))
    })
  ])
  it.prop("is released once at most, and extended by an hour at most", [Schema.Array(Event)], ([events]) => {
    let state = callInFlight
    let added = 0
    const commands: Array<RoutedCallCommand> = []
    for (const event of events) {
      const before = state._tag === "InFlight" ? state.addedMillis : 0
      const [next, done] = callTransition(state, event)
      if (event._tag === "TimerRang") added += before
      state = next
      commands.push(...done)
    }
    assert.isAtMost(commands.filter((command) => command === "Release").length, 1)
    assert.strictEqual(commands.includes("Release"), state._tag === "Ended")
    assert.isAtMost(added, maxMillis)
  })
})
