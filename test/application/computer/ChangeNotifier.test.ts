import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeChangeNotifier } from "../../../src/application/computer/ChangeNotifier.ts"
import type { ComputerPart } from "../../../src/domain/model/Notification.ts"

/** A notifier of a tool list whose fingerprint is `a` at first, with what it notified and how often it read fingerprints. */
const makeNotifier = Effect.gen(function* () {
  const notified: Array<ComputerPart> = []
  const notify = (part: ComputerPart) => Effect.sync(() => void notified.push(part))
  let current = "a"
  let reads = 0
  const read = () => {
    reads++
    return current
  }
  const fingerprints = () => new Map<ComputerPart, () => string>([["toolList", read]])
  const notifier = yield* makeChangeNotifier(notify, fingerprints, Duration.seconds(1))
  const change = (fingerprint: string) => {
    current = fingerprint
  }
  return {
    notified,
    reads: () => reads,
    change,
    observe: (fingerprint: string) =>
      Effect.andThen(
        Effect.sync(() => change(fingerprint)),
        notifier.observe
      ),
    markChanged: notifier.markChanged
  }
})

describe("ChangeNotifier", () => {
  const [second, minute] = [TestClock.adjust("1 second"), TestClock.adjust("1 minute")]
  type Steps = (notifier: Effect.Success<typeof makeNotifier>) => ReadonlyArray<Effect.Effect<void>>

  it.effect.each<[string, Steps, ReadonlyArray<ComputerPart>]>([
    ["of the first change at once", ({ observe }) => [observe("b")], ["toolList"]],
    ["of no unchanged fingerprint", ({ observe }) => [observe("a")], []],
    [
      "of the first change after an interval without changes at once",
      ({ observe }) => [observe("b"), second, observe("c")],
      ["toolList", "toolList"]
    ],
    [
      "of each part separately",
      ({ markChanged, observe }) => [observe("b"), markChanged("desktop")],
      ["toolList", "desktop"]
    ],
    [
      "of no change that was reverted in the interval",
      ({ observe }) => [observe("b"), observe("c"), observe("b"), minute],
      ["toolList"]
    ],
    [
      "of a marked part with an unchanged fingerprint",
      ({ markChanged }) => [markChanged("desktop"), markChanged("desktop"), minute],
      ["desktop", "desktop"]
    ]
  ])("notifies %s", ([, steps, expected]) =>
    Effect.gen(function* () {
      const notifier = yield* makeNotifier
      yield* Effect.all(steps(notifier))
      assert.deepStrictEqual(notifier.notified, expected)
    })
  )

  it.effect("notifies of a burst at its beginning and at its end", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* makeNotifier
      for (let round = 0; round < 100; round++) yield* observe(`b${round}`)
      assert.lengthOf(notified, 1)
      yield* TestClock.adjust("1 second")
      assert.lengthOf(notified, 2)
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(notified, 2)
    })
  )

  it.effect("throttles notifications of a continuous burst", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* makeNotifier
      for (let round = 0; round < 40; round++) {
        yield* observe(`b${round}`)
        yield* TestClock.adjust("250 millis")
      }
      assert.isTrue(notified.length >= 10 && notified.length <= 11)
    })
  )

  it.effect("notifies once of a marked part with another fingerprint", () =>
    Effect.gen(function* () {
      const { change, markChanged, notified, observe } = yield* makeNotifier
      change("b")
      yield* markChanged("toolList")
      yield* observe("b")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(notified, ["toolList"])
    })
  )

  it.effect("notifies again of a part that is marked during its notification", () =>
    Effect.gen(function* () {
      const notified: Array<ComputerPart> = []
      const notify = (part: ComputerPart): Effect.Effect<void> =>
        notified.push(part) === 1 ? Effect.suspend(() => notifier.markChanged(part)) : Effect.void
      const notifier = yield* makeChangeNotifier(notify, () => new Map(), Duration.seconds(1))
      yield* notifier.markChanged("desktop")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(notified, ["desktop", "desktop"])
    })
  )

  it.effect("notifies again of a part that changes during its notification", () =>
    Effect.gen(function* () {
      const notified: Array<ComputerPart> = []
      let current = "a"
      const notify = (part: ComputerPart) =>
        Effect.andThen(
          Effect.sleep("1 second"),
          Effect.sync(() => void notified.push(part))
        )
      const fingerprints = () => new Map<ComputerPart, () => string>([["toolList", () => current]])
      const { observe } = yield* makeChangeNotifier(notify, fingerprints, Duration.seconds(1))
      current = "b"
      yield* observe
      yield* TestClock.adjust("500 millis")
      current = "c"
      yield* observe
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(notified, ["toolList", "toolList"])
    })
  )

  it.effect("reads no fingerprint before the interval has passed", () =>
    Effect.gen(function* () {
      const { observe, reads } = yield* makeNotifier
      yield* observe("b")
      const before = reads()
      for (let round = 0; round < 100; round++) yield* observe(`c${round}`)
      assert.strictEqual(reads(), before)
    })
  )
})
