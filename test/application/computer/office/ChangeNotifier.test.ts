import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeChangeNotifier } from "../../../../src/application/computer/office/ChangeNotifier.ts"
import type { ComputerPart } from "../../../../src/domain/model/Notification.ts"

const fingerprints = (toolList: string) => new Map<ComputerPart, string>([["toolList", toolList]])

const makeNotifier = Effect.gen(function* () {
  const notified: Array<ComputerPart> = []
  const notify = (part: ComputerPart) => Effect.sync(() => void notified.push(part))
  const { observe, markChanged } = yield* makeChangeNotifier(notify, fingerprints("a"), Duration.seconds(1))
  return { notified, observe, markChanged }
})

describe("ChangeNotifier", () => {
  it.effect("notifies of the first change at once", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* makeNotifier
      yield* observe(fingerprints("b"))
      assert.deepStrictEqual(notified, ["toolList"])
    })
  )

  it.effect("ignores an unchanged fingerprint", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* makeNotifier
      yield* observe(fingerprints("a"))
      assert.deepStrictEqual(notified, [])
    })
  )

  it.effect("notifies of a burst at its beginning and at its end", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* makeNotifier
      for (let round = 0; round < 100; round++) yield* observe(fingerprints(`b${round}`))
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
        yield* observe(fingerprints(`b${round}`))
        yield* TestClock.adjust("250 millis")
      }
      assert.isTrue(notified.length >= 10 && notified.length <= 11)
    })
  )

  it.effect("notifies of the first change after an interval without changes at once", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* makeNotifier
      yield* observe(fingerprints("b"))
      yield* TestClock.adjust("1 second")
      yield* observe(fingerprints("c"))
      assert.lengthOf(notified, 2)
    })
  )

  it.effect("throttles each part separately", () =>
    Effect.gen(function* () {
      const { markChanged, notified, observe } = yield* makeNotifier
      yield* observe(fingerprints("b"))
      yield* markChanged("desktop")
      assert.deepStrictEqual(notified, ["toolList", "desktop"])
    })
  )

  it.effect("skips a change that was reverted in the interval", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* makeNotifier
      yield* observe(fingerprints("b"))
      yield* observe(fingerprints("c"))
      yield* observe(fingerprints("b"))
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(notified, 1)
    })
  )

  it.effect("notifies of a marked part with an unchanged fingerprint", () =>
    Effect.gen(function* () {
      const { notified, markChanged } = yield* makeNotifier
      yield* markChanged("desktop")
      yield* markChanged("desktop")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(notified, ["desktop", "desktop"])
    })
  )
})
