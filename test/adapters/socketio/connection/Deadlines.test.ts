import { afterEach, beforeEach, vi } from "vitest"
import { assert, describe, it } from "@effect/vitest"
import { Deadlines } from "../../../../src/adapters/socketio/connection/Deadlines.ts"

describe("Deadlines", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }))
  afterEach(() => void vi.useRealTimers())

  const make = () => {
    const due: Array<string> = []
    return { due, deadlines: new Deadlines<string>(10_000, (item) => due.push(item)) }
  }

  it("gives each item once, one duration after its start", () => {
    const { deadlines, due } = make()
    deadlines.start("a")
    vi.advanceTimersByTime(9999)
    assert.deepStrictEqual(due, [])
    vi.advanceTimersByTime(101)
    assert.deepStrictEqual(due, ["a"])
    vi.advanceTimersByTime(60_000)
    assert.deepStrictEqual(due, ["a"])
  })

  it("gives items at most a tenth of a second late", () => {
    const { deadlines, due } = make()
    for (const item of ["a", "b", "c", "d"]) {
      deadlines.start(item)
      vi.advanceTimersByTime(30)
    }
    vi.advanceTimersByTime(9980)
    assert.deepStrictEqual(due, ["a", "b", "c", "d"].slice(0, due.length))
    vi.advanceTimersByTime(100)
    assert.deepStrictEqual(due, ["a", "b", "c", "d"])
  })

  it("starts the duration of an item again", () => {
    const { deadlines, due } = make()
    deadlines.start("a")
    deadlines.start("b")
    vi.advanceTimersByTime(5000)
    deadlines.start("a")
    assert.strictEqual(deadlines.first(), "b")
    vi.advanceTimersByTime(5101)
    assert.deepStrictEqual(due, ["b"])
    vi.advanceTimersByTime(5000)
    assert.deepStrictEqual(due, ["b", "a"])
  })

  it("forgets stopped items", () => {
    const { deadlines, due } = make()
    deadlines.start("a")
    deadlines.start("b")
    deadlines.stop("a")
    assert.strictEqual(deadlines.size, 1)
    vi.advanceTimersByTime(11_000)
    assert.deepStrictEqual(due, ["b"])
  })

  it("forgets all items", () => {
    const { deadlines, due } = make()
    deadlines.start("a")
    deadlines.clear()
    vi.advanceTimersByTime(11_000)
    assert.deepStrictEqual([due, deadlines.size, vi.getTimerCount()], [[], 0, 0])
  })

  it("takes an item again while it gives others", () => {
    const due: Array<string> = []
    const deadlines = new Deadlines<string>(1000, (item) => {
      due.push(item)
      if (due.length < 5) deadlines.start(item)
    })
    deadlines.start("a")
    vi.advanceTimersByTime(6000)
    assert.deepStrictEqual(due, ["a", "a", "a", "a", "a"])
    assert.strictEqual(vi.getTimerCount(), 0)
  })
})
