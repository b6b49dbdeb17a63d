import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Queue } from "effect"
import type { ConfirmRequest } from "../../../../src/application/computer/ComputerSettings.ts"
import { makeConsent, type ConsentDecision } from "../../../../src/application/computer/calls/Consent.ts"

const call = (tool: string, server = "s", revision = 1): ConfirmRequest => ({
  computer: "pc-1",
  agent: "a",
  reqId: "r",
  server,
  tool,
  shortName: tool,
  revision,
  params: {}
})

/** A prompt that answers from one queue and records the tools in another. */
const prompting = Effect.gen(function* () {
  const decisions = yield* Queue.unbounded<ConsentDecision>()
  const prompted = yield* Queue.unbounded<string>()
  const prompt = ({ tool }: ConfirmRequest) => Effect.andThen(Queue.offer(prompted, tool), Queue.take(decisions))
  const confirm = yield* makeConsent(prompt)
  return { decisions, prompted, confirm }
})

describe("Consent", () => {
  it.effect("applies allow and deny to one call", () =>
    Effect.gen(function* () {
      const { confirm, decisions, prompted } = yield* prompting
      yield* Queue.offerAll(decisions, ["allow", "deny"])
      assert.isTrue(yield* confirm(call("write")))
      assert.isFalse(yield* confirm(call("write")))
      assert.strictEqual(yield* Queue.size(prompted), 2)
    })
  )

  it.effect("applies allow_always to this revision of this tool of this server", () =>
    Effect.gen(function* () {
      const { confirm, decisions, prompted } = yield* prompting
      yield* Queue.offerAll(decisions, ["allow_always", "deny", "deny", "deny"])
      assert.isTrue(yield* confirm(call("write")))
      assert.isTrue(yield* confirm(call("write")))
      assert.isFalse(yield* confirm(call("write", "other")))
      assert.isFalse(yield* confirm(call("remove")))
      assert.isFalse(yield* confirm(call("write", "s", 2)))
      assert.deepStrictEqual(yield* Queue.takeAll(prompted), ["write", "write", "remove", "write"])
    })
  )

  it.effect("applies allow_always to calls that already wait", () =>
    Effect.gen(function* () {
      const { confirm, decisions, prompted } = yield* prompting
      const waiting = yield* Effect.forkChild(
        Effect.all([confirm(call("write")), confirm(call("write"))], { concurrency: 2 })
      )
      yield* Queue.take(prompted)
      yield* Queue.offer(decisions, "allow_always")
      assert.deepStrictEqual(yield* Fiber.join(waiting), [true, true])
      assert.strictEqual(yield* Queue.size(prompted), 0)
    })
  )

  it.effect("prompts for the next call after an interrupted one", () =>
    Effect.gen(function* () {
      const { confirm, decisions, prompted } = yield* prompting
      const first = yield* Effect.forkChild(confirm(call("write")))
      yield* Queue.take(prompted)
      yield* Fiber.interrupt(first)
      yield* Queue.offer(decisions, "allow")
      assert.isTrue(yield* confirm(call("remove")))
    })
  )
})
