import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import type { ConfirmRequest } from "../../../../src/application/computer/ComputerSettings.ts"
import { makeConsent, type ConsentDecision } from "../../../../src/application/computer/calls/Consent.ts"

const call = (tool: string, server = "s"): ConfirmRequest => ({
  agent: "a",
  reqId: "r",
  server,
  tool,
  params: {}
})

/** A person who says what is put into the queue, and sees what is asked. */
const person = Effect.gen(function* () {
  const says = yield* Queue.unbounded<ConsentDecision>()
  const sees = yield* Queue.unbounded<string>()
  const prompt = ({ tool }: ConfirmRequest) => Effect.andThen(Queue.offer(sees, tool), Queue.take(says))
  const confirm = yield* makeConsent({ autoApprove: ["read*"], prompt })
  assert.isDefined(confirm)
  return { says, sees, confirm }
})

describe("consent", () => {
  it.effect("is not given at all without patterns and without a person", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* makeConsent({ autoApprove: [] }))
    })
  )

  it.effect("without a person the patterns alone decide", () =>
    Effect.gen(function* () {
      const confirm = yield* makeConsent({ autoApprove: ["s/read*"] })
      assert.isDefined(confirm)
      assert.isTrue(yield* confirm(call("read")))
      assert.isFalse(yield* confirm(call("write")))
    })
  )

  it.effect("what a pattern covers is not asked about", () =>
    Effect.gen(function* () {
      const { confirm, sees } = yield* person
      assert.isTrue(yield* confirm(call("read")))
      assert.strictEqual(yield* Queue.size(sees), 0)
    })
  )

  it.effect("yes and no hold for one call", () =>
    Effect.gen(function* () {
      const { confirm, says, sees } = yield* person
      yield* Queue.offerAll(says, ["allow", "deny"])
      assert.isTrue(yield* confirm(call("write")))
      assert.isFalse(yield* confirm(call("write")))
      assert.strictEqual(yield* Queue.size(sees), 2)
    })
  )

  it.effect("always holds for this tool of this server", () =>
    Effect.gen(function* () {
      const { confirm, says, sees } = yield* person
      yield* Queue.offerAll(says, ["allow_always", "deny", "deny"])
      assert.isTrue(yield* confirm(call("write")))
      assert.isTrue(yield* confirm(call("write")))
      assert.isFalse(yield* confirm(call("write", "other")))
      assert.isFalse(yield* confirm(call("remove")))
      assert.deepStrictEqual(yield* Queue.takeAll(sees), ["write", "write", "remove"])
    })
  )

  it.effect("always holds for calls that were already waiting, too", () =>
    Effect.gen(function* () {
      const { confirm, says, sees } = yield* person
      const waiting = yield* Effect.forkChild(
        Effect.all([confirm(call("write")), confirm(call("write"))], { concurrency: 2 })
      )
      yield* Queue.take(sees)
      yield* Queue.offer(says, "allow_always")
      assert.deepStrictEqual(yield* Fiber.join(waiting), [true, true])
      assert.strictEqual(yield* Queue.size(sees), 0)
    })
  )

  it.effect("a call that gives up makes room for the next question", () =>
    Effect.gen(function* () {
      const { confirm, says, sees } = yield* person
      const first = yield* Effect.forkChild(confirm(call("write")))
      yield* Queue.take(sees)
      yield* Fiber.interrupt(first)
      yield* Queue.offer(says, "allow")
      assert.isTrue(yield* confirm(call("remove")))
    })
  )
})
