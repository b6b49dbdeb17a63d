import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { answerInputs, makeInputHandler } from "../../../../src/adapters/mcp/client/inputHandler.ts"
import type { InputResponder } from "../../../../src/application/ports/McpSession.ts"
import type { JsonObject } from "../../../../src/domain/json.ts"
import type { InputRequest } from "../../../../src/domain/model/InputRequest.ts"

const answeringAs = (by: string): InputResponder => ({
  modes: ["form"],
  answer: () => Effect.succeed({ action: "accept", content: { by } })
})

const form = { message: "who?", requestedSchema: { type: "object", properties: {} } }
const page = { mode: "url", message: "open", url: "https://x/1" }

/** A session whose server asks. */
const asking = Effect.gen(function* () {
  const { during, handle } = yield* makeInputHandler
  const ask = (params: JsonObject = form, method = "elicitation/create", { signal } = new AbortController()) =>
    Effect.tryPromise({
      try: () => handle({ method, params }, { signal }),
      catch: (error) => error as { code: number }
    })
  const start = (by: string | InputResponder) =>
    Effect.forkChild(during(typeof by === "string" ? answeringAs(by) : by, Effect.never), { startImmediately: true })
  return { ask, during, start }
})

/** A responder that never answers, and tells when it is asked, and interrupted. */
const silent = Effect.gen(function* () {
  const asked = yield* Deferred.make<InputRequest>()
  const interrupted = yield* Deferred.make<void>()
  const answer: InputResponder["answer"] = (question) =>
    Deferred.succeed(asked, question).pipe(
      Effect.andThen(Effect.never),
      Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
    )
  return {
    asked: Deferred.await(asked),
    interrupted: Deferred.await(interrupted),
    responder: { modes: ["form"], answer } as const
  }
})

describe("a question of an MCP server that names no call", () => {
  it.effect("is answered by the call that started last", () =>
    Effect.gen(function* () {
      const { ask, start } = yield* asking
      yield* start("first")
      yield* start("last")
      assert.deepStrictEqual(yield* ask(), { action: "accept", content: { by: "last" } })
    })
  )

  it.effect("is answered by the last call that has not ended", () =>
    Effect.gen(function* () {
      const { ask, during, start } = yield* asking
      yield* start("first")
      const last = yield* start("last")
      yield* during(answeringAs("quick"), Effect.void)
      yield* Effect.exit(during(answeringAs("failed"), Effect.fail("x")))
      assert.deepStrictEqual(yield* ask(), { action: "accept", content: { by: "last" } })
      yield* Fiber.interrupt(last)
      assert.deepStrictEqual(yield* ask(), { action: "accept", content: { by: "first" } })
    })
  )

  it.effect("is declined where no call runs any more, and where the call answers no such question", () =>
    Effect.gen(function* () {
      const { ask, start } = yield* asking
      assert.deepStrictEqual(yield* ask(), { action: "decline" })
      const call = yield* start("only")
      assert.deepStrictEqual(yield* ask(page), { action: "decline" })
      yield* Fiber.interrupt(call)
      assert.deepStrictEqual(yield* ask(), { action: "decline" })
    })
  )

  it.live("is closed when its call ends, whose responder is interrupted", () =>
    Effect.gen(function* () {
      const { ask, start } = yield* asking
      const { asked, interrupted, responder } = yield* silent
      const call = yield* start(responder)
      const answer = yield* Effect.forkChild(ask())
      const question = yield* asked
      assert.deepStrictEqual(question, { mode: "form", message: form.message, schema: form.requestedSchema })
      yield* Fiber.interrupt(call)
      assert.deepStrictEqual(yield* Fiber.join(answer), { action: "cancel" })
      yield* interrupted
    })
  )

  it.live("interrupts its responder when the server withdraws it", () =>
    Effect.gen(function* () {
      const { ask, start } = yield* asking
      const { asked, interrupted, responder } = yield* silent
      yield* start(responder)
      const controller = new AbortController()
      const answer = yield* Effect.forkChild(ask(form, undefined, controller))
      yield* asked
      controller.abort()
      yield* interrupted
      assert.isTrue(Exit.isFailure(yield* Fiber.await(answer)))
    })
  )

  it.effect("is rejected when it is malformed, and every other request of the server", () =>
    Effect.gen(function* () {
      const { ask, start } = yield* asking
      yield* start("only")
      for (const [params, method, code] of [
        [{ message: "who?" }, undefined, -32_602],
        [{ mode: "url", url: "javascript:alert(1)" }, undefined, -32_602],
        [form, "sampling/createMessage", -32_601],
        [{}, "roots/list", -32_601]
      ] as const) {
        assert.strictEqual((yield* Effect.flip(ask(params, method))).code, code)
      }
    })
  )
})

describe("a question instead of a result", () => {
  const question = (params: JsonObject) => ({ method: "elicitation/create", params })
  const named: InputResponder = {
    modes: ["form"],
    answer: ({ message }) => Effect.succeed({ action: "accept", content: { message } })
  }

  it.effect("is answered under its id, and declined where the caller answers no such question", () =>
    Effect.gen(function* () {
      const questions = {
        a: question({ ...form, message: "1" }),
        b: question(page),
        c: question({ ...form, message: "3" })
      }
      assert.deepStrictEqual<unknown>(yield* answerInputs(questions, named), {
        a: { action: "accept", content: { message: "1" } },
        b: { action: "decline" },
        c: { action: "accept", content: { message: "3" } }
      })
      assert.deepStrictEqual<unknown>(yield* answerInputs({ a: question(form) }, undefined), {
        a: { action: "decline" }
      })
    })
  )

  it.effect("is one of 16 of a response at most", () =>
    Effect.gen(function* () {
      const many = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`q${at}`, question(form)]))
      const ids = Object.keys(yield* answerInputs(many, named))
      assert.deepStrictEqual(ids, Object.keys(many).slice(0, 16))
    })
  )

  it.effect.each([
    [
      { method: "sampling/createMessage", params: {} },
      "MCP server requested input of a kind that this client does not support"
    ],
    [question({ message: "who?" }), "MCP server asked a malformed question: requestedSchema: expected an object"]
  ] as const)("fails for another request, and where it is malformed", ([request, message]) =>
    Effect.gen(function* () {
      const failure = yield* Effect.flip(answerInputs({ a: question(form), b: request }, named))
      assert.deepStrictEqual([failure.reason, failure.message], ["protocol", message])
    })
  )
})
