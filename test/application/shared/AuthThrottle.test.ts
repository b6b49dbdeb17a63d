import { assert, describe, it } from "@effect/vitest"
import { makeAuthThrottle } from "../../../src/application/shared/AuthThrottle.ts"

const minute = 60_000

/** A throttle after rejections of the address `a` at these times. */
const rejectedAt = (...times: ReadonlyArray<number>) => {
  const throttle = makeAuthThrottle()
  for (const time of times) throttle.recordRejection("a", time)
  return throttle
}

describe("an address with rejected connections", () => {
  it("is blocked by the fifth within a minute, for a minute after it", () => {
    const { isBlocked, recordRejection } = rejectedAt(0, 1, 2, 3)
    assert.isFalse(isBlocked("a", 4))
    recordRejection("a", minute - 1)
    assert.deepStrictEqual(
      [minute - 1, 2 * minute - 2, 2 * minute - 1].map((now) => isBlocked("a", now)),
      [true, true, false]
    )
    assert.isFalse(isBlocked("b", minute))
  })

  it("is not blocked by rejections in different minutes", () => {
    const { isBlocked } = rejectedAt(0, 1, 2, 3, minute, minute + 1)
    assert.isFalse(isBlocked("a", minute + 1))
  })

  it("stays blocked for a minute after a further rejection", () => {
    const { isBlocked } = rejectedAt(0, 0, 0, 0, 0, 30_000)
    assert.deepStrictEqual([isBlocked("a", 30_000 + minute - 1), isBlocked("a", 30_000 + minute)], [true, false])
  })

  it("starts again after its block", () => {
    const { isBlocked } = rejectedAt(0, 0, 0, 0, 0, minute, minute, minute, minute)
    assert.isFalse(isBlocked("a", minute))
  })

  it("is not blocked for long by a clock that is set back", () => {
    const { isBlocked } = rejectedAt(...Array.from({ length: 5 }, () => 10 * minute))
    assert.deepStrictEqual([isBlocked("a", 9 * minute + 1), isBlocked("a", 9 * minute)], [true, false])
  })

  it("is forgotten as the one that was rejected first, beyond 4096 addresses", () => {
    const { isBlocked, recordRejection } = rejectedAt(0, 0, 0, 0)
    for (let n = 0; n < 5; n++) recordRejection("b", 1)
    recordRejection("a", 2)
    for (let n = 0; n < 4094; n++) recordRejection(`c${n}`, 3)
    assert.deepStrictEqual([isBlocked("a", 4), isBlocked("b", 4)], [true, true])
    recordRejection("d", 5)
    assert.deepStrictEqual([isBlocked("a", 6), isBlocked("b", 6)], [true, false])
  })
})

describe("an unauthenticated connection", () => {
  const max = { total: 512, perPeer: 64 }

  it("is one of 64 of its address, and makes room at its end", () => {
    const { acquirePending, releasePending } = makeAuthThrottle()
    const acquired = Array.from({ length: max.perPeer + 1 }, () => acquirePending("a"))
    assert.deepStrictEqual([acquired.filter(Boolean).length, acquired.at(-1)], [max.perPeer, false])
    assert.isTrue(acquirePending("b"))
    releasePending("a")
    assert.deepStrictEqual([acquirePending("a"), acquirePending("a")], [true, false])
  })

  it("is one of 512 in all, and makes room at its end", () => {
    const { acquirePending, releasePending } = makeAuthThrottle()
    const acquired = Array.from({ length: max.total + 1 }, (_, n) => acquirePending(`a${n}`))
    assert.deepStrictEqual([acquired.filter(Boolean).length, acquired.at(-1)], [max.total, false])
    releasePending("a0")
    assert.deepStrictEqual([acquirePending("b"), acquirePending("c")], [true, false])
  })
})
