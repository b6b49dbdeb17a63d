import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import { makeAnnouncer } from "../../../src/application/computer/Announcer.ts"
import type { Part } from "../../../src/domain/office/notice.ts"

const looks = (toolList: string) => new Map<Part, string>([["toolList", toolList]])

const announcer = Effect.gen(function* () {
  const told: Array<Part> = []
  const tell = (part: Part) => Effect.sync(() => void told.push(part))
  const { observe, touch } = yield* makeAnnouncer(tell, looks("a"), Duration.seconds(1))
  return { told, observe, touch }
})

describe("announcing", () => {
  it.effect("the first change is told at once", () =>
    Effect.gen(function* () {
      const { observe, told } = yield* announcer
      yield* observe(looks("b"))
      assert.deepStrictEqual(told, ["toolList"])
    })
  )

  it.effect("what looks as it did is not told", () =>
    Effect.gen(function* () {
      const { observe, told } = yield* announcer
      yield* observe(looks("a"))
      assert.deepStrictEqual(told, [])
    })
  )

  it.effect("a storm is told at its beginning and at its end", () =>
    Effect.gen(function* () {
      const { observe, told } = yield* announcer
      for (let round = 0; round < 100; round++) yield* observe(looks(`b${round}`))
      assert.lengthOf(told, 1)
      yield* TestClock.adjust("1 second")
      assert.lengthOf(told, 2)
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(told, 2)
    })
  )

  it.effect("a storm that goes on is told once in a while", () =>
    Effect.gen(function* () {
      const { observe, told } = yield* announcer
      for (let round = 0; round < 40; round++) {
        yield* observe(looks(`b${round}`))
        yield* TestClock.adjust("250 millis")
      }
      assert.isTrue(told.length >= 10 && told.length <= 11)
    })
  )

  it.effect("what has changed back meanwhile is not told again", () =>
    Effect.gen(function* () {
      const { observe, told } = yield* announcer
      yield* observe(looks("b"))
      yield* observe(looks("c"))
      yield* observe(looks("b"))
      yield* TestClock.adjust("1 minute")
      assert.lengthOf(told, 1)
    })
  )

  it.effect("a part that was touched is told although it looks the same, and alone", () =>
    Effect.gen(function* () {
      const { told, touch } = yield* announcer
      yield* touch("desktop")
      yield* touch("desktop")
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(told, ["desktop", "desktop"])
    })
  )
})
