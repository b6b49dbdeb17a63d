import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { RedisUnavailable } from "../../../../src/adapters/redis/registry/ScriptRunner.ts"
import { makeSyncState } from "../../../../src/adapters/redis/registry/RegistryEvents.ts"

const make = () => {
  const calls: Array<string> = []
  return { state: makeSyncState(() => calls.push("out of sync")), calls }
}

/** A state that agrees with Redis. */
const makeInSync = () => {
  const made = make()
  made.state.startReconciling()
  made.state.tryMarkInSync()
  made.state.stopReconciling()
  return made
}

describe("agreement with Redis", () => {
  it("does not exist at the start", () => {
    const { calls, state } = make()
    assert.deepStrictEqual([state.isInSync(), state.needsReconcile(), state.isReconciling()], [false, true, false])
    assert.strictEqual(state.reconcileCount(), 0)
    assert.deepStrictEqual(calls, [])
  })

  it("is not reached without a reconciliation", () => {
    const { state } = make()
    assert.isFalse(state.tryMarkInSync())
    assert.isFalse(state.isInSync())
  })

  it("is reached by a reconciliation", () => {
    const { state } = make()
    state.startReconciling()
    assert.deepStrictEqual([state.isInSync(), state.needsReconcile(), state.isReconciling()], [false, false, true])
    assert.isTrue(state.tryMarkInSync())
    assert.isTrue(state.isInSync())
  })

  it("is not reached when another reconciliation is needed meanwhile", () => {
    const { state } = make()
    state.startReconciling()
    state.markOutOfSync()
    assert.isFalse(state.tryMarkInSync())
    assert.deepStrictEqual([state.isInSync(), state.needsReconcile()], [false, true])
  })

  it("ends when a difference is found", () => {
    const { calls, state } = makeInSync()
    state.markOutOfSync()
    assert.deepStrictEqual([state.isInSync(), state.needsReconcile()], [false, true])
    assert.deepStrictEqual(calls, ["out of sync"])
  })

  it.effect("is what waiting callers wait for", () =>
    Effect.gen(function* () {
      const { state } = make()
      const waiting = yield* Effect.forkChild(state.awaitInSync, { startImmediately: true })
      assert.isUndefined(waiting.pollUnsafe())
      state.startReconciling()
      state.tryMarkInSync()
      yield* Fiber.join(waiting)
    })
  )

  it.effect("ends with a call that fails, since Redis may have run it", () =>
    Effect.gen(function* () {
      const { calls, state } = makeInSync()
      assert.strictEqual(yield* state.outOfSyncOnError(Effect.succeed(1)), 1)
      assert.isTrue(state.isInSync())
      const error = new RedisUnavailable({ message: "no answer" })
      assert.strictEqual(yield* Effect.flip(state.outOfSyncOnError(Effect.fail(error))), error)
      assert.isFalse(state.isInSync())
      assert.deepStrictEqual(calls, ["out of sync"])
    })
  )
})

describe("reconciliation state", () => {
  it("counts them, and lasts until it is stopped", () => {
    const { state } = make()
    state.startReconciling()
    state.tryMarkInSync()
    assert.isTrue(state.isReconciling())
    state.stopReconciling()
    assert.isFalse(state.isReconciling())
    state.startReconciling()
    assert.strictEqual(state.reconcileCount(), 2)
  })
})
