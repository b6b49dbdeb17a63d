import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeChangeNotifier } from "../../../../src/application/computer/office/ChangeNotifier.ts"
import type { ComputerPart } from "../../../../src/domain/model/Notification.ts"

const fingerprints = (toolList: string) => new Map<ComputerPart, string>([["toolList", toolList]])

const announcer = Effect.gen(function* () {
  const notified: Array<ComputerPart> = []
  const notify = (part: ComputerPart) => Effect.sync(() => void notified.push(part))
  const { observe, markChanged } = yield* makeChangeNotifier(notify, fingerprints("a"), Duration.seconds(1))
  return { notified, observe, markChanged }
})

describe("announcing", () => {
  it.effect("the first change is told at once", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* announcer
      yield* observe(fingerprints("b"))
      assert.deepStrictEqual(notified, ["toolList"])
    })
  )

  it.effect("what looks as it did is not told", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* announcer
      yield* observe(fingerprints("a"))
      assert.deepStrictEqual(notified, [])
    })
  )

  it.effect("a storm is told at its beginning and at its end", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* announcer
      for (let round = 0; round < 100; round++) yield* observe(fingerprints(`b${round}`))
      assert.lengthOf(notified, 1)
      yield* TestClock.adjust("1 second")
      assert.lengthOf(notified, 2)
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(notified, 2)
    })
  )

  it.effect("a storm that goes on is told once in a while", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* announcer
      for (let round = 0; round < 40; round++) {
        yield* observe(fingerprints(`b${round}`))
        yield* TestClock.adjust("250 millis")
      }
      assert.isTrue(notified.length >= 10 && notified.length <= 11)
    })
  )

  it.effect("what has changed back meanwhile is not told again", () =>
    Effect.gen(function* () {
      const { observe, notified } = yield* announcer
      yield* observe(fingerprints("b"))
      yield* observe(fingerprints("c"))
      yield* observe(fingerprints("b"))
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(notified, 1)
    })
  )

  it.effect("a part that was touched is told although it looks the same, and alone", () =>
    Effect.gen(function* () {
      const { notified, markChanged } = yield* announcer
      yield* markChanged("desktop")
      yield* markChanged("desktop")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(notified, ["desktop", "desktop"])
    })
  )
})
